#pragma once

#include "common/nn/torch.h"

namespace waggle {

// A scalar of this value whose gradient by `input` is `gradient`, for losses whose gradient is known in closed form:
// one operation of autograd instead of several. `value` and `gradient` are in no graph; the gradient has the input's
// shape.
torch::Tensor WithGradient(const torch::Tensor& value, const torch::Tensor& input, const torch::Tensor& gradient);

}  // namespace waggle
