#pragma once

#include <cstdint>

#include "common/nn/torch.h"

namespace waggle {

// RescaledValue and UnrescaledValue (value_rescaling.h) of each element. May throw as LibTorch does.
torch::Tensor Rescaled(const torch::Tensor& values, double epsilon);
torch::Tensor Unrescaled(const torch::Tensor& rescaled, double epsilon);

// The n-step returns of sequences, time-major [T + 1, rows]:
//     G_t = sum over k < m of gamma^k d_t … d_{t+k-1} r_{t+k} + gamma^m d_t … d_{t+m-1} value_{t+m}.
// m is n_step, or the number of steps to the last row of the sequence or episode, whose own return is its value.
// `reward`, `discount` [T, rows]: of row t's step; discount is the environment's times gamma, 0 if the episode
// terminates. `value` [T + 1, rows]. `counts` [T, rows], bool: row t has a step.
//
// Values that do not count may be anything: reward and discount without a step, and all after a discount of 0.
// Constant.
torch::Tensor SequenceReturns(const torch::Tensor& reward, const torch::Tensor& discount, const torch::Tensor& value,
                              const torch::Tensor& counts, int64_t n_step);

// eta * max + (1 - eta) * mean of the absolute `errors` [T, rows] of steps that count, [rows]: R2D2's priority of a
// sequence. 0 without such steps.
torch::Tensor MaxMeanPriority(const torch::Tensor& errors, const torch::Tensor& counts, double eta);

}  // namespace waggle
