#include "common/experiment/family_defaults.h"
#include "common/experiment/table_plans.h"
#include "common/rl/algorithms/ddpg/ddpg.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const DdpgOptions& options, const PlanContext& context) {
  NetworkNeed actor{"actor", {{"action", HeadKind::kDeterministic}}, options.actor_optimizer};
  actor.acts = true;
  actor.has_target = true;
  NetworkNeed critic{"critic", {{"value", HeadKind::kValue}}, options.critic_optimizer};
  critic.takes_action = true;
  critic.has_target = true;
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

// The noise that the paper adds to its actions.
DdpgOptions::DdpgOptions() {
  importance_exponent = AnnealedImportance();
  exploration.type = "ornstein_uhlenbeck";
  exploration.sigma = 0.2;
  exploration.time_step = 1;
  exploration.warm_up_steps = 1'000;
}

void DdpgOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("n_step", &n_step, In(1, 1'000));
  visitor.Double("discount", &discount, In(0, 1));
  visitor.Double("update_rate", &update_rate, Above(0, 1));
  visitor.Section("exploration", &exploration);
  visitor.Section("actor_optimizer", &actor_optimizer);
  visitor.Section("critic_optimizer", &critic_optimizer);
}

AlgorithmDefinition ddpg_definition() {
  return Define("An actor that climbs its critic, from transitions of any policy (deep deterministic policy gradient)",
                {SpaceKind::kBox}, Defaults, Plan);
}

}  // namespace waggle
