#include <cmath>

#include "common/base/problems.h"
#include "common/config/experiment/family_defaults.h"
#include "common/config/experiment/table_plans.h"
#include "common/rl/algorithms/apex_dqn/apex_dqn.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/kit/returns/n_step_sum.h"

namespace waggle {
namespace {

constexpr double kDefaultTargetUpdateRate = 0.01;

// |n-step TD error| by the acting weights. Private columns of a row: the taken action's value, the best one's.
InitialPriority TdErrorPriority(double discount) {
  return [discount](const WindowRow* rows, int64_t count) {
    const auto value = static_cast<double>(rows[count - 1].extras[1]);
    return std::abs(SumSteps(rows, count - 1, discount).With(value) - static_cast<double>(rows[0].extras[0]));
  };
}

absl::StatusOr<AlgorithmPlan> Plan(const ApexDqnOptions& options, const PlanContext& context) {
  NetworkNeed q{"q", {{"q", HeadKind::kQ}}, options.optimizer};
  q.acts = true;
  q.has_target = options.mode != "vanilla";
  AlgorithmPlan plan{{q}};
  plan.exploration = options.exploration;
  plan.tables = {TransitionTable(context, options.n_step)};
  if (context.replay.table.UsesPriorities()) {
    plan.private_columns = {"q_taken", "q_max"};
    plan.tables[0].initial_priority = TdErrorPriority(options.discount);
  }
  return plan;
}

void Defaults(Experiment* experiment) {
  FreshDataDefaults(experiment);
  NetworkSpec network;
  network.heads["q"].type = "dueling";
  experiment->networks = {{"q", network}};
  experiment->replay.table.sampler.priority_epsilon = 0.01;  // So that no item is forgotten.
  experiment->replay.table.rate_limiter.samples_per_insert = 16;
  experiment->learner.batch_size = 64;
  experiment->learner.publish_period_steps = 10;
  experiment->learner.priority_update_steps = 1;
}

}  // namespace

ApexDqnOptions::ApexDqnOptions() {
  importance_exponent = AnnealedImportance();
  optimizer.gradient_clip_norm = 10;
}

double ApexDqnOptions::EffectiveTargetUpdateRate() const {
  return target_update_rate.value_or(update_steps == 0 ? kDefaultTargetUpdateRate : 0);
}

void ApexDqnOptions::Visit(ConfigVisitor& visitor) {
  visitor.Choice("mode", &mode, {"vanilla", "fixed_target", "double"});
  visitor.Int("n_step", &n_step, In(1, 1'000));
  visitor.Double("discount", &discount, In(0, 1));
  visitor.Choice("loss", &loss, {"huber", "mse"});
  visitor.OptionalDouble("target_update_rate", &target_update_rate, Above(0, 1).Live());
  visitor.Renamed("update_rate", "target_update_rate");
  visitor.Int("update_steps", &update_steps, In(0, 1e15));
  if (mode != "vanilla" && update_steps == 0) {
    target_update_rate = EffectiveTargetUpdateRate();  // So that the effective configuration shows it.
  }
  visitor.Section("exploration", &exploration);
  visitor.Section("optimizer", &optimizer);
}

absl::Status ApexDqnOptions::Validate() const {
  Problems problems;
  problems.AddUnless(!target_update_rate.has_value() || update_steps == 0,
                     "target_update_rate: ", target_update_rate.value_or(0), " and update_steps: ", update_steps,
                     " exclude each other; give one of them");
  problems.AddUnless(mode != "vanilla" || (!target_update_rate.has_value() && update_steps == 0),
                     "target_update_rate and update_steps mean nothing in mode vanilla, which has no target network");
  return problems.ToStatus();
}

AlgorithmDefinition apex_dqn_definition() {
  return Define("Q-learning from prioritised n-step transitions of many exploring actors (Ape-X DQN)",
                {SpaceKind::kDiscrete}, Defaults, Plan);
}

}  // namespace waggle
