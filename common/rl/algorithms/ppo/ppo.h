#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/schedule.h"
#include "common/rl/algorithms/actor_critic/definition.h"

namespace waggle {

// Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347): several passes over the same unrolls. The
// policy gains nothing by moving further than `clip` from the acting one.
struct PpoOptions : public ActorCriticOptions {
  int64_t epochs = 10;  // Passes over the unrolls, each in a new order.
  // Optimizer steps per pass: at most the number of its steps, or of its unrolls if the network has a core.
  int64_t minibatches = 4;
  Schedule clip = 0.2;               // Limit of the action's probability ratio to the acting policy.
  std::optional<double> value_clip;  // Limit of a value's gain by moving from its earlier one; absent: none.
  // Passes end if the divergence from the acting policy exceeds it, in nats a step; absent: never.
  std::optional<double> max_divergence;

  PpoOptions();

  void Visit(ConfigVisitor& visitor) override;
};

// The plan of PPO and of algorithms that extend it: an actor-critic whose rows have the acting policy's log_prob, in
// step with the actors. INVALID_ARGUMENT, behind its key, for minibatches that a learner step cannot be divided into.
absl::StatusOr<AlgorithmPlan> PpoPlan(const PpoOptions& options, const PlanContext& context);
// The same with these columns of the policy.
absl::StatusOr<AlgorithmPlan> PpoPlan(const PpoOptions& options, const PlanContext& context,
                                      const std::vector<ArraySpec>& columns);

}  // namespace waggle
