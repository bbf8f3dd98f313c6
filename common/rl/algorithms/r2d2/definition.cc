#include <algorithm>
#include <cmath>

#include "common/config/experiment/family_defaults.h"
#include "common/config/experiment/table_plans.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/r2d2/r2d2.h"
#include "common/rl/kit/returns/value_rescaling.h"
#include "common/rl/kit/td_error_priority.h"

namespace waggle {
namespace {

// The TD error of row `t` of `count` by the acting weights.
double TdError(const R2d2Options& options, const WindowRow* rows, int64_t count, int64_t t) {
  const int64_t last = std::min(t + options.n_step, count - 1);
  const double value = UnrescaledValue(BestValue(rows[last]), options.rescaling_epsilon);
  const double target = SumSteps(rows + t, last - t, options.discount).With(value);
  return RescaledValue(target, options.rescaling_epsilon) - TakenValue(rows[t]);
}

InitialPriority SequencePriority(const R2d2Options& options) {
  return [options](const WindowRow* rows, int64_t count) {
    const int64_t begin = rows[0].first ? 0 : std::min(options.burn_in, count - 2);
    double most = 0;
    double sum = 0;
    for (int64_t t = begin; t < count - 1; ++t) {
      const double error = std::abs(TdError(options, rows, count, t));
      most = std::max(most, error);
      sum += error;
    }
    return options.eta * most + (1 - options.eta) * sum / static_cast<double>(count - 1 - begin);
  };
}

absl::StatusOr<AlgorithmPlan> Plan(const R2d2Options& options, const PlanContext& context) {
  NetworkNeed q{"q", {{"q", HeadKind::kQ}}, options.optimizer};
  q.acts = true;
  q.has_target = true;
  AlgorithmPlan plan{{q}};
  plan.exploration = options.exploration;
  plan.tables = {SequenceTable(context, plan, options.sequence, options.burn_in)};
  StartWith(SequencePriority(options), context, &plan);
  return plan;
}

void Defaults(Experiment* experiment) {
  FreshDataDefaults(experiment);
  NetworkSpec network;
  network.core.type = "lstm";
  network.heads["q"].type = "dueling";
  experiment->networks = {{"q", network}};
  TableConfig& table = experiment->replay.table;
  table.max_items = 25'000;  // A million steps or more.
  table.sampler.priority_exponent = 0.9;
  table.rate_limiter.min_items = 100;
  table.rate_limiter.samples_per_insert = 8;
  experiment->learner.batch_size = 32;
  experiment->learner.publish_period_steps = 4;
  experiment->learner.priority_update_steps = 1;
}

}  // namespace

R2d2Options::R2d2Options() {
  importance_exponent = 0.6;
  optimizer.epsilon = 1e-3;
  optimizer.gradient_clip_norm = 40;
}

void R2d2Options::Visit(ConfigVisitor& visitor) {
  visitor.Int("sequence", &sequence, In(1, 10'000));
  visitor.Int("burn_in", &burn_in, In(0, 10'000));
  visitor.Int("n_step", &n_step, In(1, 1'000));
  visitor.Double("discount", &discount, In(0, 1));
  visitor.Double("rescaling_epsilon", &rescaling_epsilon, In(0, 1));
  visitor.Double("target_update_rate", &target_update_rate, Above(0, 1).Live());
  visitor.Renamed("update_rate", "target_update_rate");
  visitor.Int("update_steps", &update_steps, In(1, 1e15).Live());
  visitor.Double("eta", &eta, In(0, 1));
  visitor.Section("exploration", &exploration);
  visitor.Section("optimizer", &optimizer);
}

AlgorithmDefinition r2d2_definition() {
  return Define("Q-learning with a memory, from prioritised sequences of many exploring actors (R2D2)",
                {SpaceKind::kDiscrete}, Defaults, Plan);
}

}  // namespace waggle
