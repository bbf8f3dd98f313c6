#pragma once

#include <cstdint>

#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"
#include "common/rl/noise.h"

namespace waggle {

struct OrnsteinUhlenbeckOptions {
  double mean = 0;         // mu: where it is drawn to.
  double deviation = 1;    // sigma: of the Wiener process, for one unit of time; at least 0.
  double rate = 0.15;      // theta: how strongly it is drawn to the mean, for one unit of time.
  double interval = 0.01;  // dt: units of time in a step; positive.
  double initial = 0;      // Where each episode begins.
};

// Noise for continuous actions whose successive values go together (Uhlenbeck and Ornstein, 1930; arXiv 1509.02971):
//   x <- x + rate * (mean - x) * interval + deviation * sqrt(interval) * N(0, 1).
// Each slot is one environment's memory, whichever slots a step is for. Not thread-safe; may throw as LibTorch does.
class OrnsteinUhlenbeck {
 public:
  OrnsteinUhlenbeck(const OrnsteinUhlenbeckOptions& options, int64_t slots, int64_t dimensions, torch::Device device);

  // Takes each of these slots a step on and returns where they are, float32 [rows, dimensions]. slots [rows], int64, no
  // two the same, and first [rows], bool, are on the device; a slot whose episode begins here starts from `initial`.
  torch::Tensor Step(const torch::Tensor& slots, const torch::Tensor& first, Noise* noise);

  void VisitState(StateVisitor* visitor) { visitor->Tensor("ornstein_uhlenbeck", &state_); }

 private:
  const OrnsteinUhlenbeckOptions options_;
  torch::Tensor state_;  // [slots, dimensions].
};

}  // namespace waggle
