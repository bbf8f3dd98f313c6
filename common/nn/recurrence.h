#pragma once

#include <vector>

#include "common/nn/torch.h"
#include "common/plan/network_plan.h"

namespace waggle {

// One step of a recurrent layer and the way back through it, without autograd. Rows are those of the step; matrices of
// gates are [rows, gates * units], in the order of CorePlan::Kind.

// A step's values that the way back needs.
struct RecurrentStep {
  std::vector<torch::Tensor> before;  // The parts of the state before the step, [rows, units] each.
  torch::Tensor gates;                // After their activations.
  // LSTM: tanh of the cell, [rows, units]. GRU: the new gate's input from the output before, before it was reset.
  torch::Tensor inner;
};

// The state after a step, its parts [rows, units] each, from `step.before`; the first part is written to `output`.
// `gates` are their products with the input, and are overwritten. weight_hh and bias_hh are CorePlan's, but an LSTM's
// bias has already been added to the gates.
std::vector<torch::Tensor> Forward(CorePlan::Kind kind, const torch::Tensor& weight_hh, const torch::Tensor& bias_hh,
                                   const torch::Tensor& gates, torch::Tensor output, RecurrentStep* step);

// The way back through that step. `gradients` are by the parts of the state after it, and become those by the parts
// before it. The gates' gradients by their products with the input and with the output before are written to `by_input`
// and `by_output`, [rows, gates * units], which are the same tensor for an LSTM.
void Back(CorePlan::Kind kind, const torch::Tensor& weight_hh, const RecurrentStep& step, const torch::Tensor& by_input,
          const torch::Tensor& by_output, std::vector<torch::Tensor>* gradients);

}  // namespace waggle
