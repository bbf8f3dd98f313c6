#pragma once

#include <vector>

#include "common/nn/torch.h"

namespace waggle {

// What an environment's steps show: a tensor for each leaf of its observations, in their order, [rows, …] each.
using Observations = std::vector<torch::Tensor>;

}  // namespace waggle
