#pragma once

#include <cstdint>

#include "common/nn/torch.h"

namespace waggle {

// RescaledValue and UnrescaledValue (common/rl/returns/value_rescaling.h) of each element. Pure; may throw as LibTorch
// does.
torch::Tensor Rescaled(const torch::Tensor& values, double epsilon);
torch::Tensor Unrescaled(const torch::Tensor& rescaled, double epsilon);

// The n-step returns of sequences, time-major [T + 1, rows]:
//   G_t = sum over k < m of gamma^k d_t … d_{t+k-1} r_{t+k}  +  gamma^m d_t … d_{t+m-1} value_{t+m},
// where m is n_step, or as many as there are steps to the row that is the sequence's or the episode's last. Of such a
// row itself it is the value. `reward`, `discount` [T, rows]: of row t's step; the discount is the environment's times
// gamma, and 0 where the episode terminates. `value` [T + 1, rows]. `counts` [T, rows], bool: a step follows from row
// t.
//
// What does not count changes nothing, even if it is not finite: reward and discount where no step follows, and what
// follows a discount of 0. A constant: no gradient flows. May throw as LibTorch does.
torch::Tensor SequenceReturns(const torch::Tensor& reward, const torch::Tensor& discount, const torch::Tensor& value,
                              const torch::Tensor& counts, int64_t n_step);

// Of [T, rows], over the steps that count: eta * max + (1 - eta) * mean of the absolute values, [rows] (R2D2's priority
// of a sequence). 0 where none counts.
torch::Tensor MaxMeanPriority(const torch::Tensor& errors, const torch::Tensor& counts, double eta);

}  // namespace waggle
