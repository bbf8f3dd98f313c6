#include "common/rl/algorithms/apex_dqn/apex_dqn.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const ApexDqnOptions& options, const PlanContext& context) {
  AlgorithmPlan plan = ValueBasedPlan(options, context, HeadKind::kQ);
  plan.networks[0].has_target = options.has_target();
  return plan;
}

}  // namespace

void ApexDqnOptions::Visit(ConfigVisitor& visitor) {
  visitor.Choice("mode", &mode, {"vanilla", "fixed_target", "double"});
  visitor.Choice("loss", &loss, {"huber", "mse"});
  VisitSteps(visitor);
  VisitLearning(visitor, has_target());
}

AlgorithmDefinition apex_dqn_definition() {
  return Define("Q-learning from prioritised n-step transitions of many exploring actors (Ape-X DQN)",
                {SpaceKind::kDiscrete}, ValueBasedDefaults, Plan);
}

}  // namespace waggle
