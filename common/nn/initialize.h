#pragma once

#include <cstdint>
#include <vector>

#include "common/nn/torch.h"
#include "common/plan/network_plan.h"

namespace waggle {

// First values of a layer's parameters, for one member, drawn on the CPU. Weights of the kinds that have a gain take
// the layer's, or else the one that suits its activation; biases are zero except for kDefault. An embedding's are
// standard normal by default, and a layer norm begins as the identity. May throw as LibTorch does.
struct InitialValues {
  torch::Tensor weight;
  torch::Tensor bias;  // Undefined if the layer has none.
};
InitialValues Initialize(const LayerPlan& layer, const std::vector<int64_t>& weight_shape, torch::Generator generator);

// The same for one parameter of a recurrent layer: uniform in ± 1 / sqrt(units), as in LibTorch.
torch::Tensor InitializeCore(const CorePlan& core, const std::vector<int64_t>& shape, torch::Generator generator);

}  // namespace waggle
