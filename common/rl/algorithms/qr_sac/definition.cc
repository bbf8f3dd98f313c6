#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/qr_sac/qr_sac.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const QrSacOptions& options, const PlanContext& context) {
  return SoftActorCriticPlan(options, context, TanhNormalActor(),
                             ActionCritics(options.critics, HeadNeed(HeadKind::kQuantiles, options.quantiles)));
}

}  // namespace

void QrSacOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("critics", &critics, In(1, 64));
  visitor.Int("quantiles", &quantiles, In(1, 10'000));
  visitor.Choice("least", &least, {"critic", "quantile"});
  SoftActorCriticOptions::Visit(visitor);
}

AlgorithmDefinition qr_sac_definition() {
  return Define("Soft actor-critic whose critics learn quantiles of returns (QR-SAC)", {SpaceKind::kBox},
                OffPolicyActorCriticDefaults, Plan);
}

}  // namespace waggle
