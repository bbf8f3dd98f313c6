#pragma once

#include <vector>

#include "common/nn/torch.h"

namespace waggle {

// A tensor for each leaf of an environment's observations, in order, [rows, …] each.
using Observations = std::vector<torch::Tensor>;

// A tensor for each of NetworkNeed::extra, in order, [rows, width] each; inputs that multiply may be
// [rows, samples, width].
using ExtraInputs = std::vector<torch::Tensor>;

}  // namespace waggle
