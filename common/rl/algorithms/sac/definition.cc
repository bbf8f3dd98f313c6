#include <cmath>

#include "common/experiment/family_defaults.h"
#include "common/experiment/table_plans.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/sac/sac.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const SacOptions& options, const PlanContext& context) {
  const bool is_discrete = context.environment.actions[0].kind == SpaceKind::kDiscrete;
  NetworkNeed actor{"actor", {{"policy", HeadKind::kTanhNormal}}, options.actor_optimizer};
  NetworkNeed critic{"critic", {{"value", HeadKind::kValue}}, options.critic_optimizer};
  if (is_discrete) {
    actor.heads = {{"policy", HeadKind::kCategorical}};
    critic.heads = {{"q", HeadKind::kQ}};
  }
  actor.acts = true;
  critic.takes_action = !is_discrete;
  critic.has_target = true;
  critic.members = options.critics;
  AlgorithmPlan plan{{actor, critic}};
  if (options.learn_temperature) {
    plan.scalars = {{"log_temperature", std::log(options.temperature), options.temperature_optimizer}};
  }
  plan.exploration = options.exploration;
  plan.tables = {TransitionTable(context, options.n_step)};
  return plan;
}

void Defaults(Experiment* experiment) {
  OffPolicyDefaults(experiment);
  experiment->networks = {{"actor", Mlp({256, 256})}, {"critic", Mlp({256, 256})}};
}

}  // namespace

SacOptions::SacOptions() {
  importance_exponent = AnnealedImportance();
  exploration.warm_up_steps = 1'000;
}

void SacOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("n_step", &n_step, In(1, 1'000));
  visitor.Double("discount", &discount, In(0, 1));
  visitor.Double("update_rate", &update_rate, Above(0, 1));
  visitor.Int("critics", &critics, In(1, 16));
  visitor.Double("temperature", &temperature, Above(0, 1e6));
  visitor.Bool("learn_temperature", &learn_temperature);
  const auto of_learned = [&](const char* key) {
    return visitor.Applies(key, learn_temperature,
                           "means nothing while learn_temperature is false; wanted none, or learn_temperature: true");
  };
  if (of_learned("target_entropy")) {
    visitor.OptionalDouble("target_entropy", &target_entropy, In(-1e6, 1e6));
  }
  if (of_learned("temperature_optimizer")) {
    visitor.Section("temperature_optimizer", &temperature_optimizer);
  }
  visitor.Section("exploration", &exploration);
  visitor.Section("actor_optimizer", &actor_optimizer);
  visitor.Section("critic_optimizer", &critic_optimizer);
}

AlgorithmDefinition sac_definition() {
  return Define("A random policy that is paid for its entropy, from transitions of any policy (soft actor-critic)",
                {SpaceKind::kBox, SpaceKind::kDiscrete}, Defaults, Plan);
}

}  // namespace waggle
