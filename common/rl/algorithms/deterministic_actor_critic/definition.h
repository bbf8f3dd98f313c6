#pragma once

#include <cstdint>
#include <optional>

#include "common/rl/algorithms/off_policy_actor_critic/definition.h"

namespace waggle {

// Options of algorithms whose actor climbs the value of its own action.
struct DeterministicActorCriticOptions : public OffPolicyActorCriticOptions {
  // Weight of squares that the actor descends: of a real action's elements, or of choices' logits less their mean.
  // Without it a softmax may saturate. Absent: 0 for real actions, 0.001 for choices, as in the code of MADDPG (Lowe et
  // al. 2017, arXiv 1706.02275).
  std::optional<double> action_penalty;
  double ActionPenalty(bool is_choice) const { return action_penalty.value_or(is_choice ? 0.001 : 0); }

  // The largest absolute value of the value's derivative by each element of the action; absent: any.
  std::optional<double> action_gradient_clip;

  void Visit(ConfigVisitor& visitor) override;
};

// Their plan, for real actions or one choice. A real action is the actor's own. For a choice the actor gives each one a
// probability, and the critics, whose heads are replaced, give each one a value: Q(s, p) = sum_a p_a Q_a(s).
AlgorithmPlan DeterministicActorCriticPlan(const DeterministicActorCriticOptions& options, const PlanContext& context,
                                           NetworkNeed critic);

}  // namespace waggle
