#include "common/rl/algorithms/offline/definition.h"

#include "common/config/experiment/family_defaults.h"
#include "common/config/experiment/table_plans.h"
#include "common/config/plan/head_kinds.h"
#include "common/rl/algorithms/bc/bc.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const BcOptions& options, const PlanContext& context) {
  NetworkNeed policy{"policy", {{"policy", PolicyHead(context.environment)}}, options.optimizer, /*acts=*/true};
  AlgorithmPlan plan{{policy}};
  plan.tables = {TransitionTable(context, 1)};
  return plan;
}

void Defaults(Experiment* experiment) {
  OfflineDefaults(experiment);
  experiment->networks = {{"policy", Mlp({256, 256})}};
}

}  // namespace

AlgorithmDefinition bc_definition() {
  return Define("A policy that imitates recorded actions (behaviour cloning)",
                {SpaceKind::kDiscrete, SpaceKind::kMultiDiscrete, SpaceKind::kBox}, Defaults, Plan);
}

}  // namespace waggle
