#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/hddpg/hddpg.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const HddpgOptions& options, const PlanContext& context) {
  return DdpgPlan(options, context);
}

}  // namespace

void HddpgOptions::Visit(ConfigVisitor& visitor) {
  visitor.Double("increase_rate", &increase_rate, In(0, 1'000).Live());
  visitor.Double("decrease_rate", &decrease_rate, In(0, 1'000).Live());
  DdpgOptions::Visit(visitor);
}

AlgorithmDefinition hddpg_definition() {
  return Define("DDPG whose critics follow good surprises faster than bad ones (hysteretic DDPG)",
                {SpaceKind::kBox, SpaceKind::kDiscrete}, OffPolicyActorCriticDefaults, Plan);
}

}  // namespace waggle
