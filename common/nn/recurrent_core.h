#pragma once

#include <memory>

#include "common/config/plan/network_plan.h"
#include "common/nn/flat_parameters.h"
#include "common/nn/torch.h"

namespace waggle {

// A recurrent layer: torch.nn's LSTM or GRU of one layer, whose state restarts with each episode. An unroll is one
// operation of autograd instead of a dozen a step. Gradients of parameters are added to FlatParameters::gradients() in
// place. Double differentiation is an error. Not thread-safe; may throw as LibTorch does.
class RecurrentCore {
 public:
  // If `learns`, autograd's leaf is appended to the parameters' leaves.
  RecurrentCore(const CorePlan& plan, bool learns, FlatParameters* parameters);

  struct Unrolled {
    torch::Tensor outputs;  // [T * rows, units].
    torch::Tensor state;    // [rows, state_size], after the last step.
  };
  // T steps of the same rows. `features` are [T * rows, inputs], step by step. `first`, bool [T, rows], marks rows that
  // begin an episode, whose state is zero; undefined if none does. `state` is [rows, state_size] before the first step.
  Unrolled operator()(const torch::Tensor& features, const torch::Tensor& first, const torch::Tensor& state) const;

  // The same by autograd's own operations, for comparisons. Parameters' gradients go to the same place.
  Unrolled ByAutograd(const torch::Tensor& features, const torch::Tensor& first, const torch::Tensor& state) const;

 private:
  struct Parameters;
  class Backward;

  std::shared_ptr<const Parameters> parameters_;
};

}  // namespace waggle
