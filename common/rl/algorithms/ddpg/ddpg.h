#pragma once

#include <cstdint>
#include <string>

#include "common/rl/algorithms/deterministic_actor_critic/definition.h"

namespace waggle {

// Deep deterministic policy gradient (Lillicrap et al. 2015, arXiv 1509.02971): an actor that climbs the critic's value
// of its actions, learned from any policy's transitions. A choice is drawn by softmax(s p), for the actor's
// probabilities p and the scale s of ScaleOf.
struct DdpgOptions : public DeterministicActorCriticOptions {
  int64_t critics = 1;             // The least of them counts.
  double best_probability = 0.95;  // The probability to draw a choice to which the actor gives probability 1.
  // The first priority of an item, if the table picks by priority. highest: that of all items. td_error: the error of
  // the critics that are published with the actor.
  std::string initial_priority = "highest";

  DdpgOptions();

  void Visit(ConfigVisitor& visitor) override;
};

// The scale s for which softmax(s p) gives this probability to one of the choices, if p is 1 for it and 0 for others.
double ScaleOf(double best_probability, int64_t choices);

absl::StatusOr<AlgorithmPlan> DdpgPlan(const DdpgOptions& options, const PlanContext& context);

}  // namespace waggle
