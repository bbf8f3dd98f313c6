#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/qr_dqn/qr_dqn.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const QrDqnOptions& options, const PlanContext& context) {
  return ValueBasedPlan(options, context, HeadNeed(HeadKind::kQuantileQ, options.quantiles));
}

}  // namespace

void QrDqnOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("quantiles", &quantiles, In(1, 10'000));
  visitor.Double("huber_threshold", &huber_threshold, In(0, 1e6).Live());
  visitor.Bool("double_selection", &double_selection);
  ValueBasedOptions::Visit(visitor);
}

AlgorithmDefinition qr_dqn_definition() {
  return Define("Q-learning of quantiles of returns (quantile regression DQN)", {SpaceKind::kDiscrete},
                ValueBasedDefaults, Plan);
}

}  // namespace waggle
