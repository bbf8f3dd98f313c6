#pragma once

#include <cstdint>
#include <vector>

#include "common/config/plan/network_plan.h"
#include "common/nn/torch.h"

namespace waggle {

// Initial values of a layer's parameters, for one member, drawn on the CPU. The gain is the layer's or suits its
// activation. Biases are zero except for kDefault. Embeddings are standard normal by default, norms the identity.
// May throw as LibTorch does.
struct InitialValues {
  torch::Tensor weight;
  torch::Tensor bias;  // Undefined if the layer has none.
};
InitialValues Initialize(const LayerPlan& layer, const std::vector<int64_t>& weight_shape, torch::Generator generator);

// The same for a recurrent layer's parameter: uniform in ± 1 / sqrt(units), as in LibTorch.
torch::Tensor InitializeCore(const CorePlan& core, const std::vector<int64_t>& shape, torch::Generator generator);

}  // namespace waggle
