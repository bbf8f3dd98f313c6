#include <cmath>

#include "common/config/experiment/experiment.h"
#include "common/config/experiment/table_plans.h"
#include "common/config/spec/joint_action.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/taac/taac.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const TaacOptions& options, const PlanContext& context) {
  NetworkNeed actor = TanhNormalActor();
  actor.takes_action = true;  // The one that it may repeat.
  NetworkNeed critic = ActionCritics(options.critics, HeadKind::kValue);
  critic.acts = true;
  AlgorithmPlan plan = SoftActorCriticPlan(options, context, actor, critic);
  plan.own_policy = true;
  plan.columns = {{TaacOptions::kRepeatedAction, DType::kFloat32, {JointActionOf(context.environment).num_reals}}};
  if (options.learn_temperature) {
    plan.scalars.push_back(
        {"log_switch_temperature", std::log(options.switch_temperature), options.temperature_optimizer});
    plan.scalars.back().acts = true;
  }
  plan.tables = {SequenceTable(context, plan, options.n_step, /*burn_in=*/0)};
  return plan;
}

void Defaults(Experiment* experiment) {
  OffPolicyActorCriticDefaults(experiment);
  // In sequences. A learner step for each environment step, from as many steps as SAC's.
  experiment->learner.batch_size = 32;
  experiment->replay.table.max_items = 125'000;
  experiment->replay.table.rate_limiter.min_items = 125;
}

}  // namespace

TaacOptions::TaacOptions() {
  n_step = 8;
}

void TaacOptions::Visit(ConfigVisitor& visitor) {
  SoftActorCriticOptions::Visit(visitor);
  visitor.Int("critics", &critics, In(1, 16));
  visitor.Double("switch_temperature", &switch_temperature, Above(0, 1e6));
  if (visitor.Applies("switch_target_entropy", learn_temperature,
                      "means nothing while learn_temperature is false; wanted none, or learn_temperature: true")) {
    visitor.Double("switch_target_entropy", &switch_target_entropy, Above(0, 0.69).Live());
  }
}

AlgorithmDefinition taac_definition() {
  return Define("Soft actor-critic that may repeat the action before (temporally abstract actor-critic)",
                {SpaceKind::kBox}, Defaults, Plan);
}

}  // namespace waggle
