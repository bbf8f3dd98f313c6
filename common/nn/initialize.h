#pragma once

#include <cstdint>
#include <vector>

#include "common/nn/torch.h"
#include "common/plan/network_plan.h"

namespace waggle {

// First values for a layer's weight and bias, drawn on the CPU. Weights of the kinds that have a gain take the one that
// suits `activation`; biases are zero but for kDefault. May throw as LibTorch does.
struct InitialValues {
  torch::Tensor weight;
  torch::Tensor bias;
};
InitialValues Initialize(Initialization initialization, Activation activation, const std::vector<int64_t>& weight_shape,
                         torch::Generator generator);

}  // namespace waggle
