#pragma once

#include "common/nn/flat_parameters.h"
#include "common/nn/torch.h"
#include "common/plan/network_plan.h"

namespace waggle {

// A recurrent layer: what torch.nn's LSTM or GRU of one layer computes, with a state that begins anew where an episode
// does. Not thread-safe; may throw as LibTorch does.
class RecurrentCore {
 public:
  // `learns`: autograd's leaves of its parameters are appended to the parameters' leaves.
  RecurrentCore(const CorePlan& plan, bool learns, FlatParameters* parameters);

  struct Unrolled {
    torch::Tensor outputs;  // [T * rows, units].
    torch::Tensor state;    // [rows, state_size], after the last step.
  };
  // T steps of the same rows: `features` are [T * rows, inputs], one step after the other. `first`, bool [T, rows]: the
  // row is an episode's first, before which its state is zero; undefined: none is. `state`: [rows, state_size] before
  // the first step.
  Unrolled operator()(const torch::Tensor& features, const torch::Tensor& first, const torch::Tensor& state) const;

 private:
  const CorePlan plan_;
  torch::Tensor weight_ih_, weight_hh_, bias_ih_, bias_hh_;
};

}  // namespace waggle
