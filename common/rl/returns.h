#pragma once

#include "common/nn/torch.h"

namespace waggle {

// The discounted sum of a window's rewards, and what the value of its last row counts.
struct NStepReturn {
  torch::Tensor rewards;    // [rows]: sum over k < length - 1 of gamma^k * prod_{j<k} discount_j * reward_k.
  torch::Tensor bootstrap;  // [rows]: gamma^(length - 1) * prod_{j < length - 1} discount_j.
};

// For windows of `length` [rows] int64 steps: `reward` and `discount` are [rows, max_length], floating-point, and what
// they hold at and after length - 1 does not count, whatever it is. A pure function; may throw as LibTorch does.
NStepReturn NStepReturns(const torch::Tensor& reward, const torch::Tensor& discount, const torch::Tensor& length,
                         double gamma);

}  // namespace waggle
