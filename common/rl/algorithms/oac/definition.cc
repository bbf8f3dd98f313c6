#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/oac/oac.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const OacOptions& options, const PlanContext& context) {
  NetworkNeed critic = ActionCritics(options.critics, HeadKind::kValue);
  critic.acts = true;
  AlgorithmPlan plan = SoftActorCriticPlan(options, context, TanhNormalActor(), critic);
  plan.own_policy = true;
  return plan;
}

}  // namespace

void OacOptions::Visit(ConfigVisitor& visitor) {
  visitor.Double("optimism", &optimism, In(0, 1e6));
  visitor.Double("divergence", &divergence, In(0, 1e6));
  visitor.Int("critics", &critics, In(1, 16));
  SoftActorCriticOptions::Visit(
      visitor);  // Without SacOptions' keys: this policy takes no core, no choice and no prior.
}

AlgorithmDefinition oac_definition() {
  return Define("Soft actor-critic that explores where its critics may underestimate (optimistic actor-critic)",
                {SpaceKind::kBox}, OffPolicyActorCriticDefaults, Plan);
}

}  // namespace waggle
