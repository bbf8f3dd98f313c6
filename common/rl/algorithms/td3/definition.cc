#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/td3/td3.h"

namespace waggle {

absl::StatusOr<AlgorithmPlan> Td3Plan(const Td3Options& options, const PlanContext& context) {
  NetworkNeed critic{"critic", {{"value", HeadKind::kValue}}};
  critic.members = options.critics;
  return DeterministicActorCriticPlan(options, context, critic);
}

Td3Options::Td3Options() {
  exploration.type = "gaussian";
}

void Td3Options::Visit(ConfigVisitor& visitor) {
  visitor.Int("critics", &critics, In(1, 16));
  visitor.Double("target_noise", &target_noise, In(0, 2).Live());
  visitor.Double("target_noise_clip", &target_noise_clip, In(0, 2).Live());
  visitor.Int("policy_delay", &policy_delay, In(1, 1'000).Live());
  DeterministicActorCriticOptions::Visit(visitor);
}

AlgorithmDefinition td3_definition() {
  return Define("DDPG with twin critics, smoothed targets and a delayed actor (TD3)", {SpaceKind::kBox},
                OffPolicyActorCriticDefaults, Td3Plan);
}

}  // namespace waggle
