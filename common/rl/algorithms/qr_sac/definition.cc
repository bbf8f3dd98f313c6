#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/qr_sac/qr_sac.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const QrSacOptions& options, const PlanContext& context) {
  return QuantileActorCriticPlan(options, context);
}

}  // namespace

void QrSacOptions::Visit(ConfigVisitor& visitor) {
  visitor.Choice("least", &least, {"critic", "quantile"});
  QuantileActorCriticOptions::Visit(visitor);
}

AlgorithmDefinition qr_sac_definition() {
  return Define("Soft actor-critic whose critics learn quantiles of returns (QR-SAC)", {SpaceKind::kBox},
                OffPolicyActorCriticDefaults, Plan);
}

}  // namespace waggle
