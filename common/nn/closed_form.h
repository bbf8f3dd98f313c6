#pragma once

#include "common/nn/torch.h"

namespace waggle {

// A tensor of this value whose gradient by `input` is `gradient`, for losses with a known gradient: one operation of
// autograd. `value` is a scalar, or has the input's leading dimensions, and each element depends only on its part of
// the input. `value` and `gradient` must be in no graph, and `gradient` of the input's shape.
torch::Tensor WithGradient(const torch::Tensor& value, const torch::Tensor& input, const torch::Tensor& gradient);

}  // namespace waggle
