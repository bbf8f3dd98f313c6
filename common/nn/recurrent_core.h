#pragma once

#include <memory>

#include "common/nn/flat_parameters.h"
#include "common/nn/torch.h"
#include "common/plan/network_plan.h"

namespace waggle {

// A recurrent layer: torch.nn's LSTM or GRU of one layer, with a state that begins anew with each episode. All steps of
// an unroll are one operation of autograd, which would record a dozen for each. If autograd wants the parameters'
// gradients, they are added to FlatParameters::gradients() in place; double differentiation is an error. Not
// thread-safe; may throw as LibTorch does.
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

  // The same by autograd's own operations, for comparisons. Its gradients by the parameters go to the same place.
  Unrolled ByAutograd(const torch::Tensor& features, const torch::Tensor& first, const torch::Tensor& state) const;

 private:
  struct Parameters;
  class Backward;

  std::shared_ptr<const Parameters> parameters_;
};

}  // namespace waggle
