#include "common/experiment/family_defaults.h"
#include "common/experiment/table_plans.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/td3/td3.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const Td3Options& options, const PlanContext& context) {
  NetworkNeed actor{"actor", {{"action", HeadKind::kDeterministic}}, options.actor_optimizer};
  actor.acts = true;
  actor.has_target = true;
  NetworkNeed critic{"critic", {{"value", HeadKind::kValue}}, options.critic_optimizer};
  critic.takes_action = true;
  critic.has_target = true;
  critic.members = options.critics;
  AlgorithmPlan plan{{actor, critic}};
  plan.exploration = options.exploration;
  plan.tables = {TransitionTable(context, options.n_step)};
  return plan;
}

void Defaults(Experiment* experiment) {
  OffPolicyDefaults(experiment);
  experiment->networks = {{"actor", Mlp({256, 256})}, {"critic", Mlp({256, 256})}};
}

}  // namespace

Td3Options::Td3Options() {
  importance_exponent = AnnealedImportance();
  exploration.type = "gaussian";
  exploration.warm_up_steps = 1'000;
}

void Td3Options::Visit(ConfigVisitor& visitor) {
  visitor.Int("n_step", &n_step, In(1, 1'000));
  visitor.Double("discount", &discount, In(0, 1));
  visitor.Double("update_rate", &update_rate, Above(0, 1));
  visitor.Int("critics", &critics, In(1, 16));
  visitor.Double("target_noise", &target_noise, In(0, 2));
  visitor.Double("target_noise_clip", &target_noise_clip, In(0, 2));
  visitor.Int("policy_delay", &policy_delay, In(1, 1'000));
  visitor.Section("exploration", &exploration);
  visitor.Section("actor_optimizer", &actor_optimizer);
  visitor.Section("critic_optimizer", &critic_optimizer);
}

AlgorithmDefinition td3_definition() {
  return Define("DDPG with twin critics, smoothed targets and a delayed actor (TD3)", {SpaceKind::kBox}, Defaults,
                Plan);
}

}  // namespace waggle
