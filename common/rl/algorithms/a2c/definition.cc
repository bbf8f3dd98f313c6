#include "common/base/status_macros.h"
#include "common/experiment/family_defaults.h"
#include "common/experiment/table_plans.h"
#include "common/plan/actor_critic_plan.h"
#include "common/rl/algorithms/a2c/a2c.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const A2cOptions& options, const PlanContext& context) {
  AlgorithmPlan plan =
      ActorCriticPlan(context.environment, options.entropy, options.optimizer, options.normalize_returns);
  plan.rows_per_version = options.unroll;
  WAGGLE_ASSIGN_OR_RETURN(TablePlan unrolls, UnrollTable(context, plan, options.unroll));
  plan.tables = {std::move(unrolls)};
  return plan;
}

}  // namespace

A2cOptions::A2cOptions() {
  unroll = 8;
  normalize_advantages = false;
  optimizer.type = "rmsprop";
  optimizer.learning_rate = 0.002;
  optimizer.epsilon = 1e-5;
  optimizer.gradient_clip_norm = 0.5;
}

AlgorithmDefinition a2c_definition() {
  return Define("A policy that follows its advantages, learned in step with all actors (advantage actor-critic)",
                {SpaceKind::kDiscrete, SpaceKind::kMultiDiscrete, SpaceKind::kBox}, ActorCriticDefaults, Plan);
}

}  // namespace waggle
