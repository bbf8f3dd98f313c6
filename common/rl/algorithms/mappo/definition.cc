#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/mappo/mappo.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const MappoOptions& options, const PlanContext& context) {
  return MultiAgentPpoPlan(options, context, /*central=*/true);
}

void Defaults(Experiment* experiment) {
  ActorCriticDefaults(experiment);
  NetworkSpec both = experiment->networks.at("actor_critic");
  NetworkSpec critic = both;
  critic.heads = {{"value", both.heads.at("value")}};
  critic.heads["value"].shares = "all";
  both.heads.erase("value");
  experiment->networks = {{"actor", both}, {"critic", critic}};
}

}  // namespace

AlgorithmDefinition mappo_definition() {
  AlgorithmDefinition definition =
      Define("PPO of several agents, each with a value of what all of them see (multi-agent PPO)",
             {SpaceKind::kDiscrete, SpaceKind::kMultiDiscrete, SpaceKind::kBox}, Defaults, Plan);
  definition.takes_agents = true;
  return definition;
}

}  // namespace waggle
