#pragma once

#include <cstdint>

#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"
#include "common/rl/kit/noise.h"

namespace waggle {

struct OrnsteinUhlenbeckOptions {
  double mean = 0;         // mu: the value that it drifts to.
  double deviation = 1;    // sigma: of the Wiener process, per unit of time; at least 0.
  double rate = 0.15;      // theta: strength of the drift to the mean, per unit of time.
  double interval = 0.01;  // dt: units of time in a step; positive.
  double initial = 0;      // Value at the start of an episode.
};

// Correlated noise for continuous actions (Uhlenbeck and Ornstein, 1930; arXiv 1509.02971):
//     x <- x + rate * (mean - x) * interval + deviation * sqrt(interval) * N(0, 1).
// Each slot is one environment's memory. Not thread-safe; may throw as LibTorch does.
class OrnsteinUhlenbeck {
 public:
  OrnsteinUhlenbeck(const OrnsteinUhlenbeckOptions& options, int64_t slots, int64_t dimensions, torch::Device device);

  // Steps these slots and returns their values, float32 [rows, dimensions]. `slots` [rows], int64 and distinct, and
  // `first` [rows], bool, are on the device. A slot whose episode begins starts from `initial`. `scales`, [rows, 1],
  // multiply the rows' deviations; undefined if all are 1.
  torch::Tensor Step(const torch::Tensor& slots, const torch::Tensor& first, Noise* noise,
                     const torch::Tensor& scales = {});

  void VisitState(StateVisitor* visitor) { visitor->Tensor("ornstein_uhlenbeck", &state_); }

 private:
  const OrnsteinUhlenbeckOptions options_;
  torch::Tensor state_;  // [slots, dimensions].
};

// Gaussian noise that lasts for two steps, as a disturbed demonstrator has (arXiv 2202.01312): the sum of a
// step's draw and the one before, N_t + N_{t-1}. An episode's first step has its own draw alone. Each slot is one
// environment's memory. Not thread-safe; may throw as LibTorch does.
class MovingAverage {
 public:
  MovingAverage(int64_t slots, int64_t dimensions, torch::Device device);

  // As OrnsteinUhlenbeck::Step, without scales.
  torch::Tensor Step(const torch::Tensor& slots, const torch::Tensor& first, Noise* noise);

 private:
  torch::Tensor last_;  // The draws before, [slots, dimensions].
};

}  // namespace waggle
