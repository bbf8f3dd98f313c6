#include "common/rl/algorithms/quantile_actor_critic/definition.h"

namespace waggle {

void QuantileActorCriticOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("critics", &critics, In(1, 16));
  visitor.Int("quantiles", &quantiles, In(1, 1'000));
  SoftActorCriticOptions::Visit(visitor);
}

AlgorithmPlan QuantileActorCriticPlan(const QuantileActorCriticOptions& options, const PlanContext& context) {
  return SoftActorCriticPlan(options, context, TanhNormalActor(),
                             ActionCritics(options.critics, HeadNeed(HeadKind::kQuantiles, options.quantiles)));
}

}  // namespace waggle
