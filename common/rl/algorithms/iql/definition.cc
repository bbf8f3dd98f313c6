#include "common/rl/algorithms/offline/definition.h"

#include "common/config/experiment/family_defaults.h"
#include "common/config/plan/head_kinds.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/iql/iql.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const IqlOptions& options, const PlanContext& context) {
  NetworkNeed actor{"actor", {{"policy", PolicyHead(context.environment)}}};
  const bool is_choice = context.environment.actions[0].kind == SpaceKind::kDiscrete;
  NetworkNeed critic{"critic", {{"value", HeadKind::kValue}}};
  if (is_choice) {
    critic.heads = {{"q", HeadKind::kQ}};
  }
  critic.takes_action = !is_choice;
  critic.members = options.critics;
  AlgorithmPlan plan = OffPolicyActorCriticPlan(options, context, actor, critic);
  plan.networks.push_back({"value", {{"value", HeadKind::kValue}}, options.value_optimizer});
  return plan;
}

void Defaults(Experiment* experiment) {
  OfflineDefaults(experiment);
  experiment->networks = {{"actor", Mlp({256, 256})}, {"critic", Mlp({256, 256})}, {"value", Mlp({256, 256})}};
}

}  // namespace

IqlOptions::IqlOptions() {
  exploration.type = "none";
}

void IqlOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("critics", &critics, In(1, 16));
  visitor.Double("expectile", &expectile, In(0, 1).Live());
  visitor.Double("temperature", &temperature, Above(0, 1e6).Live());
  visitor.Double("max_advantage_weight", &max_advantage_weight, Above(0, 1e9).Live());
  OffPolicyActorCriticOptions::Visit(visitor);
  visitor.Section("value_optimizer", &value_optimizer);
}

AlgorithmDefinition iql_definition() {
  return Define("Values and a policy from recorded actions alone (implicit Q-learning)",
                {SpaceKind::kBox, SpaceKind::kDiscrete}, Defaults, Plan);
}

}  // namespace waggle
