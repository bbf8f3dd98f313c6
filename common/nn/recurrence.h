#pragma once

#include <vector>

#include "common/config/plan/network_plan.h"
#include "common/nn/torch.h"

namespace waggle {

// A recurrent layer's step and backward pass. Matrices of gates are [rows, gates * units], ordered as CorePlan::Kind.

// A step's values for the backward pass.
struct RecurrentStep {
  std::vector<torch::Tensor> before;  // The parts of the state before the step, [rows, units] each.
  torch::Tensor gates;                // After their activations.
  // LSTM: tanh of the cell, [rows, units]. GRU: the new gate's input from the earlier output, before its reset.
  torch::Tensor inner;
};

// The state after a step, in parts of [rows, units], from `step.before`. Writes the first part to `output`. `gates` are
// their products with the input and are overwritten. weight_hh and bias_hh are CorePlan's; an LSTM's bias is already in
// the gates.
std::vector<torch::Tensor> Forward(CorePlan::Kind kind, const torch::Tensor& weight_hh, const torch::Tensor& bias_hh,
                                   const torch::Tensor& gates, torch::Tensor output, RecurrentStep* step);

// The step's backward pass. `gradients` are by the parts of the state after it, and become those before it. Writes the
// gradients of the gates' products with the input to `by_input`, and with the earlier output to `by_output`, [rows,
// gates * units]: the same tensor for an LSTM.
void Back(CorePlan::Kind kind, const torch::Tensor& weight_hh, const RecurrentStep& step, const torch::Tensor& by_input,
          const torch::Tensor& by_output, std::vector<torch::Tensor>* gradients);

}  // namespace waggle
