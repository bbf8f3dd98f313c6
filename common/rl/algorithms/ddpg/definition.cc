#include "common/rl/algorithms/ddpg/ddpg.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const DdpgOptions& options, const PlanContext& context) {
  NetworkNeed actor{"actor", {{"action", HeadKind::kDeterministic}}};
  actor.has_target = true;
  NetworkNeed critic{"critic", {{"value", HeadKind::kValue}}};
  critic.takes_action = true;
  return OffPolicyActorCriticPlan(options, context, actor, critic);
}

}  // namespace

// The paper's noise.
DdpgOptions::DdpgOptions() {
  exploration.type = "ornstein_uhlenbeck";
  exploration.sigma = 0.2;
  exploration.time_step = 1;
}

AlgorithmDefinition ddpg_definition() {
  return Define("An actor that climbs its critic, from transitions of any policy (deep deterministic policy gradient)",
                {SpaceKind::kBox}, OffPolicyActorCriticDefaults, Plan);
}

}  // namespace waggle
