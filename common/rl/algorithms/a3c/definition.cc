#include "common/base/status_macros.h"
#include "common/experiment/family_defaults.h"
#include "common/experiment/table_plans.h"
#include "common/plan/actor_critic_plan.h"
#include "common/rl/algorithms/a3c/a3c.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {
namespace {

void Defaults(Experiment* experiment) {
  ActorCriticDefaults(experiment);
  experiment->learner.gradients = "push";
}

absl::StatusOr<AlgorithmPlan> Plan(const A3cOptions& options, const PlanContext& context) {
  AlgorithmPlan plan =
      ActorCriticPlan(context.environment, options.entropy, options.optimizer, options.normalize_returns);
  plan.rows_per_version = options.unroll;
  WAGGLE_ASSIGN_OR_RETURN(TablePlan unrolls, UnrollTable(context, plan, options.unroll));
  plan.tables = {std::move(unrolls)};
  return plan;
}

}  // namespace

A3cOptions::A3cOptions() {
  unroll = 8;
  normalize_returns = false;
  normalize_advantages = false;
  optimizer.type = "rmsprop";
  optimizer.learning_rate = 0.002;
  optimizer.epsilon = 1e-5;
  optimizer.gradient_clip_norm = 0.5;
}

AlgorithmDefinition a3c_definition() {
  return Define("A policy that follows its advantages, by gradients that actors push without waiting (A3C)",
                {SpaceKind::kDiscrete, SpaceKind::kMultiDiscrete, SpaceKind::kBox}, Defaults, Plan);
}

}  // namespace waggle
