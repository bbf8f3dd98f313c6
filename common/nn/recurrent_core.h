#pragma once

#include <memory>

#include "common/nn/flat_parameters.h"
#include "common/nn/torch.h"
#include "common/plan/network_plan.h"

namespace waggle {

// A recurrent layer: what torch.nn's LSTM or GRU of one layer computes, with a state that begins anew where an episode
// does. All steps of an unroll are one operation of autograd, which would keep books of a dozen for each. Gradients by
// the parameters are added to FlatParameters::gradients() in place, where autograd wants them; double differentiation
// is an error. Not thread-safe; may throw as LibTorch does.
class RecurrentCore {
 public:
  // `learns`: autograd's leaf of its parameters is appended to the parameters' leaves.
  RecurrentCore(const CorePlan& plan, bool learns, FlatParameters* parameters);

  struct Unrolled {
    torch::Tensor outputs;  // [T * rows, units].
    torch::Tensor state;    // [rows, state_size], after the last step.
  };
  // T steps of the same rows: `features` are [T * rows, inputs], one step after the other. `first`, bool [T, rows]: the
  // row is an episode's first, before which its state is zero; undefined: none is. `state`: [rows, state_size] before
  // the first step.
  Unrolled operator()(const torch::Tensor& features, const torch::Tensor& first, const torch::Tensor& state) const;

  // The same by autograd's own operations, to compare with. Its gradients by the parameters go to the same place.
  Unrolled ByAutograd(const torch::Tensor& features, const torch::Tensor& first, const torch::Tensor& state) const;

 private:
  struct Parameters;
  class Backward;

  std::shared_ptr<const Parameters> parameters_;
};

}  // namespace waggle
