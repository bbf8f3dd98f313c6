#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/experiment/algorithm_definition.h"
#include "common/experiment/experiment.h"
#include "common/plan/exploration_options.h"
#include "common/plan/optimizer_options.h"

namespace waggle {

// What algorithms have in common that learn an actor and the critics which it climbs from transitions of any policy.
struct OffPolicyActorCriticOptions : public AlgorithmOptions {
  int64_t n_step = 1;      // Rewards that are summed before the critics take over; fewer where an episode ends.
  double discount = 0.99;  // A step.
  double target_update_rate = 0.005;  // The share of a network that its target takes over when it follows.

  ExplorationOptions exploration;
  OptimizerOptions actor_optimizer, critic_optimizer;

  OffPolicyActorCriticOptions();

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return absl::OkStatus(); }
};

// Their plan: an actor, which acts, and critics with a target; exploration; and a table of transitions.
AlgorithmPlan OffPolicyActorCriticPlan(const OffPolicyActorCriticOptions& options, const PlanContext& context,
                                       NetworkNeed actor, NetworkNeed critic);

// OffPolicyDefaults, and networks that are named "actor" and "critic".
void OffPolicyActorCriticDefaults(Experiment* experiment);

}  // namespace waggle
