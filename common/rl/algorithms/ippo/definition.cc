#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/ippo/ippo.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const IppoOptions& options, const PlanContext& context) {
  return MultiAgentPpoPlan(options, context, /*central=*/false);
}

}  // namespace

AlgorithmDefinition ippo_definition() {
  AlgorithmDefinition definition =
      Define("PPO of each of several agents by itself (independent PPO)",
             {SpaceKind::kDiscrete, SpaceKind::kMultiDiscrete, SpaceKind::kBox}, ActorCriticDefaults, Plan);
  definition.takes_agents = true;
  return definition;
}

}  // namespace waggle
