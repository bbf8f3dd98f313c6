#include "common/base/problems.h"
#include "common/config/experiment/experiment.h"
#include "common/rl/algorithms/d4pg/d4pg.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const D4pgOptions& options, const PlanContext& context) {
  const NetworkNeed critic{"critic", {{"value", HeadNeed(HeadKind::kVector, options.atoms)}}};
  return DeterministicActorCriticPlan(options, context, critic);
}

void Defaults(Experiment* experiment) {
  OffPolicyActorCriticDefaults(experiment);
  experiment->replay.table.sampler.kind = SelectorKind::kPrioritized;
}

}  // namespace

// Defaults as in the paper.
D4pgOptions::D4pgOptions() {
  n_step = 5;
  exploration.type = "gaussian";
  exploration.sigma = 0.3;
}

void D4pgOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("atoms", &atoms, In(2, 10'000));
  visitor.Double("low", &low, In(-1e9, 1e8));
  visitor.Double("high", &high, In(-1e8, 1e9));
  DeterministicActorCriticOptions::Visit(visitor);
}

absl::Status D4pgOptions::Validate() const {
  Problems problems;
  problems.AddUnless(low < high, "low: got ", low, "; wanted less than high, ", high);
  return problems.ToStatus();
}

AlgorithmDefinition d4pg_definition() {
  return Define("DDPG with a critic of the distribution of returns, n-step transitions and priorities (D4PG)",
                {SpaceKind::kBox}, Defaults, Plan);
}

}  // namespace waggle
