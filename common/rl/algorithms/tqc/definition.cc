#include "common/base/problems.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/tqc/tqc.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const TqcOptions& options, const PlanContext& context) {
  return SoftActorCriticPlan(options, context, TanhNormalActor(),
                             ActionCritics(options.critics, HeadNeed(HeadKind::kQuantiles, options.quantiles)));
}

}  // namespace

void TqcOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("critics", &critics, In(1, 64));
  visitor.Int("quantiles", &quantiles, In(1, 10'000));
  visitor.Int("dropped", &dropped, In(0, 9'999));
  SoftActorCriticOptions::Visit(visitor);
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
