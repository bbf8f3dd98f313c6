#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/m_dqn/m_dqn.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const MDqnOptions& options, const PlanContext& context) {
  return ValueBasedPlan(options, context, HeadKind::kQ);
}

}  // namespace

void MDqnOptions::Visit(ConfigVisitor& visitor) {
  visitor.Double("temperature", &temperature, Above(0, 1e6));
  visitor.Double("munchausen_weight", &munchausen_weight, In(0, 1).Live());
  visitor.Double("lowest_logarithm", &lowest_logarithm, In(-1e6, 0));
  VisitLearning(visitor);
}

AlgorithmDefinition m_dqn_definition() {
  return Define("Soft Q-learning that is paid for the logarithm of its policy (Munchausen DQN)", {SpaceKind::kDiscrete},
                ValueBasedDefaults, Plan);
}

}  // namespace waggle
