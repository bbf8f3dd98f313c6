#include "common/base/problems.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/tqc/tqc.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const TqcOptions& options, const PlanContext& context) {
  return QuantileActorCriticPlan(options, context);
}

}  // namespace

TqcOptions::TqcOptions() {
  critics = 5;
  quantiles = 25;
}

void TqcOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("dropped", &dropped, In(0, 999));
  QuantileActorCriticOptions::Visit(visitor);
}

absl::Status TqcOptions::Validate() const {
  Problems problems;
  problems.AddUnless(dropped < quantiles, "dropped: got ", dropped, "; wanted less than quantiles, ", quantiles);
  return problems.ToStatus();
}

AlgorithmDefinition tqc_definition() {
  return Define("Soft actor-critic with quantile critics whose largest quantiles are left out (TQC)", {SpaceKind::kBox},
                OffPolicyActorCriticDefaults, Plan);
}

}  // namespace waggle
