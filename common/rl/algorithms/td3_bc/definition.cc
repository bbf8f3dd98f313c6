#include "common/rl/algorithms/offline/definition.h"

#include "common/config/experiment/family_defaults.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/td3_bc/td3_bc.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const Td3BcOptions& options, const PlanContext& context) {
  return Td3Plan(options, context);
}

void Defaults(Experiment* experiment) {
  OfflineDefaults(experiment);
  experiment->networks = {{"actor", Mlp({256, 256})}, {"critic", Mlp({256, 256})}};
}

}  // namespace

Td3BcOptions::Td3BcOptions() {
  exploration.type = "none";
}

void Td3BcOptions::Visit(ConfigVisitor& visitor) {
  visitor.Double("value_weight", &value_weight, In(0, 1e6).Live());
  Td3Options::Visit(visitor);
}

AlgorithmDefinition td3_bc_definition() {
  return Define("TD3 that stays near recorded actions (TD3+BC)", {SpaceKind::kBox}, Defaults, Plan);
}

}  // namespace waggle
