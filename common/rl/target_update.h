#pragma once

#include <cstdint>

#include "common/nn/flat_parameters.h"
#include "common/nn/state_visitor.h"

namespace waggle {

// Lets the target network's parameters follow the online network's. Not thread-safe.
class TargetUpdate {
 public:
  // target <- rate * online + (1 - rate) * target after every step; rate in (0, 1].
  static TargetUpdate Soft(double rate) { return TargetUpdate(rate, 0); }
  // target <- online after every `steps`-th step; at least 1.
  static TargetUpdate Periodic(int64_t steps) { return TargetUpdate(1, steps); }

  // Call after every step of the online parameters. One operation on the flat buffers; may throw as LibTorch does.
  void Follow(const FlatParameters& online, FlatParameters* target);

  void VisitState(StateVisitor* visitor) { visitor->Int("steps", &steps_taken_); }

 private:
  TargetUpdate(double rate, int64_t period) : rate_(rate), period_(period) {}

  double rate_;
  int64_t period_;  // 0: soft.
  int64_t steps_taken_ = 0;
};

}  // namespace waggle
