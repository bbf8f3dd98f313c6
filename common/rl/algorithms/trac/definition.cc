#include "common/base/status_macros.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/trac/trac.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const TracOptions& options, const PlanContext& context) {
  WAGGLE_ASSIGN_OR_RETURN(AlgorithmPlan plan, ActorCriticPlan(options, context, /*columns=*/{}, /*actors_wait=*/true));
  plan.iterates = true;
  plan.assigns = true;
  return plan;
}

}  // namespace

void TracOptions::Visit(ConfigVisitor& visitor) {
  visitor.Double("max_divergence", &max_divergence, Above(0, 1e6).Live());
  visitor.Int("max_pulls", &max_pulls, In(1, 10'000).Live());
  A2cOptions::Visit(visitor);
}

AlgorithmDefinition trac_definition() {
  return Define("An actor-critic whose steps are pulled back if the policy moved too far (TRAC)",
                {SpaceKind::kDiscrete, SpaceKind::kMultiDiscrete, SpaceKind::kBox}, ActorCriticDefaults, Plan);
}

}  // namespace waggle
