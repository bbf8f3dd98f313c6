#include <cmath>

#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/sac/sac.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const SacOptions& options, const PlanContext& context) {
  NetworkNeed actor{"actor", {{"policy", HeadKind::kTanhNormal}}};
  NetworkNeed critic{"critic", {{"value", HeadKind::kValue}}};
  critic.takes_action = true;
  if (context.environment.actions[0].kind == SpaceKind::kDiscrete) {
    actor.heads = {{"policy", HeadKind::kCategorical}};
    critic.heads = {{"q", HeadKind::kQ}};
    critic.takes_action = false;
  }
  critic.members = options.critics;
  AlgorithmPlan plan = OffPolicyActorCriticPlan(options, context, actor, critic);
  if (options.learn_temperature) {
    plan.scalars = {{"log_temperature", std::log(options.temperature), options.temperature_optimizer}};
  }
  return plan;
}

}  // namespace

// The paper's 0.005 takes tens of thousands of steps to move values from 0 to 100, as if each step earned 1.
SacOptions::SacOptions() {
  target_update_rate = 0.02;
}

void SacOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("critics", &critics, In(1, 16));
  // A learned temperature only begins with it.
  visitor.Double("temperature", &temperature, learn_temperature ? Above(0, 1e6) : Above(0, 1e6).Live());
  visitor.Bool("learn_temperature", &learn_temperature);
  const auto of_learned = [&](const char* key) {
    return visitor.Applies(key, learn_temperature,
                           "means nothing while learn_temperature is false; wanted none, or learn_temperature: true");
  };
  if (of_learned("target_entropy")) {
    visitor.OptionalDouble("target_entropy", &target_entropy, In(-1e6, 1e6).Live());
  }
  if (of_learned("temperature_optimizer")) {
    visitor.Section("temperature_optimizer", &temperature_optimizer);
  }
  OffPolicyActorCriticOptions::Visit(visitor);
}

AlgorithmDefinition sac_definition() {
  return Define("A random policy that is paid for its entropy, from transitions of any policy (soft actor-critic)",
                {SpaceKind::kBox, SpaceKind::kDiscrete}, OffPolicyActorCriticDefaults, Plan);
}

}  // namespace waggle
