#pragma once

#include <cstdint>
#include <optional>

#include "common/rl/algorithms/off_policy_actor_critic/definition.h"

namespace waggle {

// Options of algorithms whose actor climbs the value of its own action.
struct DeterministicActorCriticOptions : public OffPolicyActorCriticOptions {
  double action_penalty = 0;  // Weight of the squares of an action's elements, which the actor descends.
  // The largest absolute value of the value's derivative by each element of the action; absent: any.
  std::optional<double> action_gradient_clip;

  void Visit(ConfigVisitor& visitor) override;
};

// Their plan, for real actions or one choice. A real action is the actor's own. For a choice the actor gives each one a
// probability, and the critics take all of them as their action.
AlgorithmPlan DeterministicActorCriticPlan(const DeterministicActorCriticOptions& options, const PlanContext& context,
                                           NetworkNeed critic);

}  // namespace waggle
