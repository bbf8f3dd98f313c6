#include "common/rl/algorithms/deterministic_actor_critic/definition.h"

#include <utility>

namespace waggle {

void DeterministicActorCriticOptions::Visit(ConfigVisitor& visitor) {
  visitor.OptionalDouble("action_penalty", &action_penalty, In(0, 1e6).Live());
  visitor.OptionalDouble("action_gradient_clip", &action_gradient_clip, Above(0, 1e6).Live());
  OffPolicyActorCriticOptions::Visit(visitor);
}

AlgorithmPlan DeterministicActorCriticPlan(const DeterministicActorCriticOptions& options, const PlanContext& context,
                                           NetworkNeed critic) {
  NetworkNeed actor{"actor", {{"action", HeadKind::kDeterministic}}};
  actor.has_target = true;
  const SpaceLeaf& action = context.environment.actions[0];
  critic.takes_action = action.kind == SpaceKind::kBox;
  if (!critic.takes_action) {
    actor.heads = {{"policy", HeadKind::kCategorical}};
    critic.heads = {{"value", HeadNeed(HeadKind::kVector, action.TotalChoices())}};
  }
  return OffPolicyActorCriticPlan(options, context, std::move(actor), std::move(critic));
}

}  // namespace waggle
