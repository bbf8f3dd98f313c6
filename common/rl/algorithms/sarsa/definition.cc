#include "common/config/experiment/family_defaults.h"
#include "common/config/experiment/table_plans.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/sarsa/sarsa.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const SarsaOptions& options, const PlanContext& context) {
  NetworkNeed q{"q", {{"q", HeadKind::kQ}}, options.optimizer};
  q.acts = true;
  q.has_target = true;
  AlgorithmPlan plan{{q}};
  plan.exploration = options.exploration;
  plan.tables = {SequenceTable(context, plan, options.sequence, /*burn_in=*/0)};
  return plan;
}

// Old sequences have the next actions of old policies, so the table is small.
void Defaults(Experiment* experiment) {
  ValueBasedDefaults(experiment);
  TableConfig& table = experiment->replay.table;
  table.sampler = {};
  table.sampler.kind = SelectorKind::kUniform;
  table.max_items = 1'000;
  table.rate_limiter.min_items = 100;
  table.rate_limiter.samples_per_insert = 64;
  experiment->learner.batch_size = 32;
}

}  // namespace

SarsaOptions::SarsaOptions() {
  exploration.epsilon = 0.1;
  exploration.ladder_exponent = 0;  // One policy in all lanes.
}

void SarsaOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("sequence", &sequence, In(1, 10'000));
  visitor.Double("lambda", &lambda, In(0, 1).Live());
  VisitLearning(visitor);
}

AlgorithmDefinition sarsa_definition() {
  return Define("Values of the acting policy's own choices, from recent sequences (SARSA(lambda))",
                {SpaceKind::kDiscrete}, Defaults, Plan);
}

}  // namespace waggle
