#pragma once

#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"
#include "common/rl/kit/batches.h"
#include "common/rl/kit/running_statistics.h"
#include "common/rl/kit/update_context.h"

namespace waggle {

// Scales rewards so that returns have a deviation of 1. Then the weight of a value loss beside a policy loss, and
// gradient clipping, do not depend on the size of rewards. Not thread-safe; may throw as LibTorch does.
class ReturnScale {
 public:
  // If not `enabled`, rewards stay unchanged, and the update's context is not used.
  ReturnScale(bool enabled, torch::Device device)
      : enabled_(enabled), returns_({}, device), largest_reward_(torch::zeros({}, device)) {}

  // [T, rows]: the unroll's rewards over the deviation of all lambda-returns so far, its own included. `value` [T + 1,
  // rows] is on the earlier scale; no gradient flows. Each of several learners has the deviation of its own returns,
  // and all take the mean, as gradients on different scales must not be averaged.
  //
  // The sum of the largest reward so far for ever bounds returns. Values follow the scale with a delay, so without the
  // bound a scale that grew would grow for ever. No bound with a discount of 1 or before the first reward.
  torch::Tensor Rewards(const Unrolls& unrolls, const torch::Tensor& value, double lambda, UpdateContext* context);

  // Values on the present scale, on the rewards' own scale, and back; unchanged if not enabled.
  torch::Tensor Unscaled(const torch::Tensor& values, UpdateContext* context) const {
    return enabled_ ? values * Deviation(values, context) : values;
  }
  torch::Tensor Scaled(const torch::Tensor& values, UpdateContext* context) const {
    return enabled_ ? values / Deviation(values, context) : values;
  }

  void VisitState(StateVisitor* visitor) {
    visitor->Scope("returns", [&] { returns_.VisitState(visitor); });
    visitor->Tensor("largest_reward", &largest_reward_);
  }

 private:
  // Over all learners, of the type of `like`.
  torch::Tensor Deviation(const torch::Tensor& like, UpdateContext* context) const {
    return context->Mean(returns_.deviation()).to(like.scalar_type());
  }

  const bool enabled_;
  RunningStatistics returns_;
  torch::Tensor largest_reward_;  // Absolute value, over all learned steps.
};

}  // namespace waggle
