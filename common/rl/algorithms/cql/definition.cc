#include "common/rl/algorithms/offline/definition.h"

#include "common/base/status_macros.h"
#include "common/config/experiment/family_defaults.h"
#include "common/config/experiment/table_plans.h"
#include "common/rl/algorithms/cql/cql.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const CqlOptions& options, const PlanContext& context) {
  if (options.prior.needs_action_before()) {
    return absl::InvalidArgumentError(
        "algorithm.prior.type: got one that reads the action before; wanted another: algorithm cql learns from "
        "transitions");
  }
  WAGGLE_ASSIGN_OR_RETURN(AlgorithmPlan plan, SacPlan(options, context));
  if (plan.learns_vector_rewards) {  // The conservative term is of whole values: a vector's weighted sum is learned.
    plan.learns_vector_rewards = false;
    plan.networks[1].heads = {{"value", HeadKind::kValue}};
  }
  plan.tables = {TransitionTable(context, options.n_step)};  // Also beside a core, which is refused then.
  return plan;
}

void Defaults(Experiment* experiment) {
  OfflineDefaults(experiment);
  experiment->networks = {{"actor", Mlp({256, 256})}, {"critic", Mlp({256, 256})}};
}

}  // namespace

CqlOptions::CqlOptions() {
  actor_optimizer.learning_rate = 1e-4;
}

void CqlOptions::Visit(ConfigVisitor& visitor) {
  visitor.Double("conservative_weight", &conservative_weight, In(0, 1e6).Live());
  visitor.Int("sampled_actions", &sampled_actions, In(1, 1'000));
  SacOptions::Visit(visitor);
}

AlgorithmDefinition cql_definition() {
  return Define("Soft actor-critic whose critics value what was not recorded less (conservative Q-learning)",
                {SpaceKind::kBox, SpaceKind::kDiscrete}, Defaults, Plan);
}

}  // namespace waggle
