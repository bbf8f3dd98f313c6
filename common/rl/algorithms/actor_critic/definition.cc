#include "common/rl/algorithms/actor_critic/definition.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/config/experiment/family_defaults.h"
#include "common/config/experiment/table_plans.h"
#include "common/config/plan/head_kinds.h"

namespace waggle {

ActorCriticOptions::ActorCriticOptions() {
  optimizer.epsilon = 1e-5;
  optimizer.gradient_clip_norm = 0.5;
}

void ActorCriticOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("unroll", &unroll, In(1, 100'000));
  visitor.Double("discount", &discount, In(0, 1));
  visitor.Double("lambda", &lambda, In(0, 1).Live());
  visitor.Double("value_weight", &value_weight, In(0, 1e6).Live());
  visitor.Int("value_replicas", &value_replicas, In(1, 64));
  visitor.Bool("normalize_returns", &normalize_returns);
  visitor.Bool("normalize_advantages", &normalize_advantages);
  visitor.OptionalDouble("advantage_clip", &advantage_clip, Above(0, 1e6).Live());
  visitor.Section("entropy", &entropy);
  visitor.Section("optimizer", &optimizer);
}

absl::StatusOr<AlgorithmPlan> ActorCriticPlan(const ActorCriticOptions& options, const PlanContext& context,
                                              const std::vector<ArraySpec>& columns, bool actors_wait) {
  NetworkNeed net{"actor_critic",
                  {{"policy", PolicyHead(context.environment)}, {"value", {HeadKind::kValue, options.value_replicas}}},
                  options.optimizer};
  net.acts = true;
  AlgorithmPlan plan{{net}, EntropyScalars(options.entropy), columns};
  plan.exploration.type = "none";
  plan.normalizes_returns = options.normalize_returns;
  plan.assigns = options.entropy.rule == "stages";
  if (actors_wait) {
    plan.rows_per_version = options.unroll;
  }
  WAGGLE_ASSIGN_OR_RETURN(TablePlan unrolls, UnrollTable(context, plan, options.unroll));
  plan.tables = {std::move(unrolls)};
  return plan;
}

NetworkSpec ActorCriticNetwork(std::vector<int64_t> units) {
  NetworkSpec network = Mlp(std::move(units));
  network.torso[0].activation = "tanh";
  network.torso[0].initialization = "orthogonal";
  HeadSpec& policy = network.heads["policy"];
  policy.initialization = "orthogonal";
  policy.gain = 0.01;
  HeadSpec& value = network.heads["value"];
  value.initialization = "orthogonal";
  value.gain = 1;
  value.shares = "nothing";
  return network;
}

void ActorCriticDefaults(Experiment* experiment) {
  OnPolicyDefaults(experiment);
  experiment->learner.max_policy_lag = 0;
  experiment->networks = {{"actor_critic", ActorCriticNetwork({64, 64})}};
}

}  // namespace waggle
