#include "common/rl/algorithms/value_based/definition.h"

#include "common/base/problems.h"
#include "common/config/experiment/family_defaults.h"
#include "common/config/experiment/table_plans.h"
#include "common/rl/kit/td_error_priority.h"

namespace waggle {
namespace {

constexpr double kDefaultRate = 0.01;

}  // namespace

double TargetOptions::EffectiveTargetUpdateRate() const {
  return target_update_rate.value_or(update_steps == 0 ? kDefaultRate : 0);
}

void TargetOptions::VisitTarget(ConfigVisitor& visitor, bool has_target) {
  visitor.OptionalDouble("target_update_rate", &target_update_rate, Above(0, 1).Live());
  visitor.Renamed("update_rate", "target_update_rate");
  visitor.Int("update_steps", &update_steps, In(0, 1e15));
  if (has_target && update_steps == 0) {
    target_update_rate = EffectiveTargetUpdateRate();  // So that the effective configuration shows it.
  }
}

absl::Status TargetOptions::ValidateTarget(bool has_target) const {
  Problems problems;
  problems.AddUnless(!target_update_rate.has_value() || update_steps == 0, "update_steps: got ", update_steps,
                     " beside target_update_rate ", target_update_rate.value_or(0), "; wanted one of the two");
  problems.AddUnless(has_target || !target_update_rate.has_value(), "target_update_rate: got ",
                     target_update_rate.value_or(0), " in mode vanilla, which has no target network; wanted none");
  problems.AddUnless(has_target || update_steps == 0, "update_steps: got ", update_steps,
                     " in mode vanilla, which has no target network; wanted none");
  return problems.ToStatus();
}

ValueBasedOptions::ValueBasedOptions() {
  importance_exponent = AnnealedImportance();
  optimizer.gradient_clip_norm = 10;
}

void ValueBasedOptions::Visit(ConfigVisitor& visitor) {
  VisitSteps(visitor);
  VisitLearning(visitor);
}

void ValueBasedOptions::VisitSteps(ConfigVisitor& visitor) {
  visitor.Int("n_step", &n_step, In(1, 1'000));
}

void ValueBasedOptions::VisitLearning(ConfigVisitor& visitor, bool has_target) {
  visitor.Double("discount", &discount, In(0, 1));
  VisitTarget(visitor, has_target);
  visitor.Section("exploration", &exploration);
  visitor.Section("optimizer", &optimizer);
}

AlgorithmPlan ValueBasedPlan(const ValueBasedOptions& options, const PlanContext& context, const HeadNeed& head) {
  NetworkNeed q{"q", {{"q", head}}, options.optimizer};
  q.acts = true;
  q.has_target = true;
  AlgorithmPlan plan{{q}};
  plan.exploration = options.exploration;
  plan.tables = {TransitionTable(context, options.n_step)};
  StartWith(TdErrorPriority(options.discount), context, &plan);
  return plan;
}

void ValueBasedDefaults(Experiment* experiment) {
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

}  // namespace waggle
