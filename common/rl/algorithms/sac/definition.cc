#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/sac/sac.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const SacOptions& options, const PlanContext& context) {
  NetworkNeed actor = TanhNormalActor();
  NetworkNeed critic = ActionCritics(options.critics, HeadKind::kValue);
  if (context.environment.actions[0].kind == SpaceKind::kDiscrete) {
    actor.heads = {{"policy", HeadKind::kCategorical}};
    critic.heads = {{"q", HeadKind::kQ}};
    critic.takes_action = false;
  }
  return SoftActorCriticPlan(options, context, actor, critic);
}

}  // namespace

void SacOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("critics", &critics, In(1, 16));
  SoftActorCriticOptions::Visit(visitor);
}

AlgorithmDefinition sac_definition() {
  return Define("A random policy that is paid for its entropy, from transitions of any policy (soft actor-critic)",
                {SpaceKind::kBox, SpaceKind::kDiscrete}, OffPolicyActorCriticDefaults, Plan);
}

}  // namespace waggle
