#include "common/rl/algorithms/off_policy_actor_critic/definition.h"

#include <utility>

#include "common/config/experiment/family_defaults.h"
#include "common/config/experiment/table_plans.h"

namespace waggle {

OffPolicyActorCriticOptions::OffPolicyActorCriticOptions() {
  importance_exponent = AnnealedImportance();
  exploration.warm_up_steps = 1'000;
}

void OffPolicyActorCriticOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("n_step", &n_step, In(1, 1'000));
  visitor.Double("discount", &discount, In(0, 1));
  if (visitor.Applies("target_update_rate", has_target(), "means nothing without a target; wanted none")) {
    visitor.Double("target_update_rate", &target_update_rate, Above(0, 1).Live());
    visitor.Renamed("update_rate", "target_update_rate");
  }
  visitor.Section("exploration", &exploration);
  visitor.Section("actor_optimizer", &actor_optimizer);
  visitor.Section("critic_optimizer", &critic_optimizer);
}

AlgorithmPlan OffPolicyActorCriticPlan(const OffPolicyActorCriticOptions& options, const PlanContext& context,
                                       NetworkNeed actor, NetworkNeed critic) {
  actor.optimizer = options.actor_optimizer;
  actor.acts = true;
  critic.optimizer = options.critic_optimizer;
  critic.has_target = options.has_target();
  AlgorithmPlan plan{{std::move(actor), std::move(critic)}};
  plan.exploration = options.exploration;
  plan.tables = {TransitionTable(context, options.n_step)};
  return plan;
}

void OffPolicyActorCriticDefaults(Experiment* experiment) {
  OffPolicyDefaults(experiment);
  experiment->networks = {{"actor", Mlp({256, 256})}, {"critic", Mlp({256, 256})}};
}

}  // namespace waggle
