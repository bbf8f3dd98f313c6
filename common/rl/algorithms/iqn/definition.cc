#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/iqn/iqn.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const IqnOptions& options, const PlanContext& context) {
  AlgorithmPlan plan = ValueBasedPlan(options, context, HeadKind::kQ);
  plan.networks[0].extra = {{"fractions", options.embedding, /*multiplies=*/true}};
  plan.own_policy = true;
  return plan;
}

}  // namespace

void IqnOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("samples", &samples, In(1, 1'000));
  visitor.Int("target_samples", &target_samples, In(1, 1'000));
  visitor.Int("acting_samples", &acting_samples, In(1, 1'000));
  visitor.Int("embedding", &embedding, In(1, 10'000));
  visitor.Double("huber_threshold", &huber_threshold, In(0, 1e6).Live());
  ValueBasedOptions::Visit(visitor);
}

AlgorithmDefinition iqn_definition() {
  return Define("Q-learning of quantiles of returns at drawn fractions (implicit quantile networks)",
                {SpaceKind::kDiscrete}, ValueBasedDefaults, Plan);
}

}  // namespace waggle
