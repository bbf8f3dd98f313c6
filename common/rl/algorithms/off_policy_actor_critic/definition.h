#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/config/experiment/algorithm_definition.h"
#include "common/config/experiment/experiment.h"
#include "common/config/plan/exploration_options.h"
#include "common/config/plan/optimizer_options.h"

namespace waggle {

// Options of algorithms that learn critics, and an actor that climbs them, from any policy's transitions.
struct OffPolicyActorCriticOptions : public AlgorithmOptions {
  int64_t n_step = 1;                 // Rewards summed before the critics take over; fewer at an episode's end.
  double discount = 0.99;             // Per step.
  double target_update_rate = 0.005;  // Share of a network that its target takes over.

  ExplorationOptions exploration;
  OptimizerOptions actor_optimizer, critic_optimizer;

  OffPolicyActorCriticOptions();

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return absl::OkStatus(); }

  // True if the critics have a target.
  virtual bool has_target() const { return true; }
};

// Their plan: an acting actor, critics with a target unless the options have none, exploration, and a table of
// transitions.
AlgorithmPlan OffPolicyActorCriticPlan(const OffPolicyActorCriticOptions& options, const PlanContext& context,
                                       NetworkNeed actor, NetworkNeed critic);

// OffPolicyDefaults, and networks "actor" and "critic".
void OffPolicyActorCriticDefaults(Experiment* experiment);

}  // namespace waggle
