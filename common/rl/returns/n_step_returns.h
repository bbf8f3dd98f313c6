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

// reward + bootstrap * value: what a row's estimate should become. Where the bootstrap is 0 no value counts, not even
// one that is not finite. reward and bootstrap have one shape; value has it too, behind any leading dimensions ([rows]
// and [members, rows]), or a c10::Error says what it has. Pure; gradients flow through all three.
torch::Tensor Bootstrapped(const torch::Tensor& reward, const torch::Tensor& bootstrap, const torch::Tensor& value);

}  // namespace waggle
