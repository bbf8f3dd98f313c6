#pragma once

#include "common/nn/torch.h"

namespace waggle {

// The discounted sum of a window's rewards, and the factor of its last row's value.
struct NStepReturn {
  torch::Tensor rewards;    // [rows], [rows, k]: sum over k < length - 1 of gamma^k * prod_{j<k} discount_j * reward_k.
  torch::Tensor bootstrap;  // [rows]: gamma^(length - 1) * prod_{j < length - 1} discount_j.
};

// For windows of `length` [rows] int64 steps. `reward` and `discount` are [rows, max_length], floating-point; a reward
// of k dimensions is [rows, max_length, k]. Their values from length - 1 on are ignored. Pure; may throw as LibTorch
// does.
NStepReturn NStepReturns(const torch::Tensor& reward, const torch::Tensor& discount, const torch::Tensor& length,
                         double gamma);

// reward + bootstrap * value: the target of a row's estimate. A bootstrap of 0 ignores the value, even if it is not
// finite. reward and bootstrap must have one shape, and value the same behind any leading dimensions ([rows] and
// [members, rows]); otherwise a c10::Error. Pure; gradients flow through all three.
torch::Tensor Bootstrapped(const torch::Tensor& reward, const torch::Tensor& bootstrap, const torch::Tensor& value);

}  // namespace waggle
