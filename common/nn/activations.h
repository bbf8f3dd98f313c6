#pragma once

#include "common/config/plan/network_plan.h"
#include "common/nn/torch.h"

namespace waggle {

// The activation of `input`, by autograd's own operations.
torch::Tensor Activate(Activation activation, const torch::Tensor& input);

// True if the activation's derivative needs its input; the others follow from the output, which may overwrite it.
bool NeedsInput(Activation activation);
// For an activation that does not need its input.
void ActivateInPlace(Activation activation, torch::Tensor& values);
// The gradient by the activation's input. `before` is that input, if NeedsInput.
torch::Tensor ActivationBackward(Activation activation, const torch::Tensor& gradient, const torch::Tensor& before,
                                 const torch::Tensor& output);

}  // namespace waggle
