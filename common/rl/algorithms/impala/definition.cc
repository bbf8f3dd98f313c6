#include "common/base/problems.h"
#include "common/base/status_macros.h"
#include "common/experiment/family_defaults.h"
#include "common/experiment/table_plans.h"
#include "common/plan/actor_critic_plan.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/impala/impala.h"

namespace waggle {
namespace {

void Defaults(Experiment* experiment) {
  AsynchronousDefaults(experiment);
  experiment->networks = {{"actor_critic", ActorCritic({64, 64})}};
}

absl::StatusOr<AlgorithmPlan> Plan(const ImpalaOptions& options, const PlanContext& context) {
  AlgorithmPlan plan =
      ActorCriticPlan(context.environment, options.entropy, options.optimizer, options.normalize_returns);
  plan.columns = {"log_prob"};
  WAGGLE_ASSIGN_OR_RETURN(TablePlan unrolls, UnrollTable(context, plan, options.unroll));
  plan.tables = {std::move(unrolls)};
  return plan;
}

}  // namespace

ImpalaOptions::ImpalaOptions() {
  unroll = 16;
  lambda = 1;
  normalize_returns = false;
  normalize_advantages = false;
  entropy.weight = 0.01;
  optimizer.learning_rate = 0.002;
  optimizer.epsilon = 1e-5;
  optimizer.gradient_clip_norm = 0.5;
}

void ImpalaOptions::Visit(ConfigVisitor& visitor) {
  visitor.Double("rho_clip", &rho_clip, Above(0, 1e6));
  visitor.Double("c_clip", &c_clip, Above(0, 1e6));
  ActorCriticOptions::Visit(visitor);
}

absl::Status ImpalaOptions::Validate() const {
  Problems problems;
  problems.AddUnless(c_clip <= rho_clip, "c_clip: ", c_clip, " is more than rho_clip: ", rho_clip,
                     "; wanted at most as much");
  return problems.ToStatus();
}

AlgorithmDefinition impala_definition() {
  return Define("A policy learned from what older ones acted, by actors that never wait (IMPALA)",
                {SpaceKind::kDiscrete, SpaceKind::kMultiDiscrete, SpaceKind::kBox}, Defaults, Plan);
}

}  // namespace waggle
