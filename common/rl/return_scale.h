#pragma once

#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"
#include "common/rl/batches.h"
#include "common/rl/running_statistics.h"

namespace waggle {

// Puts rewards on the scale on which returns have a deviation of 1: what a loss of values weighs beside that of a
// policy, and what gradients are clipped to, then do not depend on what an environment pays. Not thread-safe; may throw
// as LibTorch does.
class ReturnScale {
 public:
  // Not `enabled`: rewards stay as they are.
  ReturnScale(bool enabled, torch::Device device)
      : enabled_(enabled), returns_({}, device), largest_reward_(torch::zeros({}, device)) {}

  // [T, rows]: the unroll's rewards over the deviation of all lambda-returns so far, its own included. `value`
  // [T + 1, rows] is on the scale of before; no gradient flows.
  //
  // A return counts as no more than the largest reward so far could add up to, for ever. Values follow the scale with a
  // delay, so that they are too large for one that has grown: without the bound they make it grow on, without end.
  // There is no bound with a discount of 1, nor before the first reward.
  torch::Tensor Rewards(const Unrolls& unrolls, const torch::Tensor& value, double lambda);

  void VisitState(StateVisitor* visitor) {
    visitor->Scope("returns", [&] { returns_.VisitState(visitor); });
    visitor->Tensor("largest_reward", &largest_reward_);
  }

 private:
  const bool enabled_;
  RunningStatistics returns_;
  torch::Tensor largest_reward_;  // Its size, of all that was learned from.
};

}  // namespace waggle
