#include "common/rl/algorithms/offline/definition.h"

#include "absl/strings/str_cat.h"
#include "common/config/experiment/family_defaults.h"
#include "common/config/experiment/table_plans.h"
#include "common/config/spec/joint_action.h"
#include "common/rl/algorithms/causal_bc/causal_bc.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const CausalBcOptions& options, const PlanContext& context) {
  const int64_t reals = JointActionOf(context.environment).num_reals;
  AlgorithmPlan plan{{{"policy", {{"action", HeadKind::kDeterministic}}, options.policy_optimizer, /*acts=*/true},
                      {"residual", {{"residual", HeadNeed(HeadKind::kVector, reals)}}, options.residual_optimizer}}};
  TablePlan table = TransitionTable(context, 1);
  for (const SpaceLeaf& leaf : context.environment.actions) {
    table.table.view.push_back(
        {absl::StrCat(kNextActionPrefix, leaf.array.name), leaf.array.name, ViewField::Rows::kLast});
  }
  table.table.signature.push_back({kStepType, DType::kInt32, {}});
  table.table.view.push_back({kNextStepType, kStepType, ViewField::Rows::kLast});
  plan.tables = {table};
  return plan;
}

void Defaults(Experiment* experiment) {
  OfflineDefaults(experiment);
  experiment->networks = {{"policy", Mlp({256, 256})}, {"residual", Mlp({256, 256})}};
}

}  // namespace

void CausalBcOptions::Visit(ConfigVisitor& visitor) {
  visitor.Double("cloning_weight", &cloning_weight, In(0, 1e6).Live());
  visitor.Double("residual_penalty", &residual_penalty, In(0, 1e6).Live());
  visitor.Section("policy_optimizer", &policy_optimizer);
  visitor.Section("residual_optimizer", &residual_optimizer);
}

AlgorithmDefinition causal_bc_definition() {
  return Define("Behaviour cloning of demonstrators with lasting noise (ResiduIL)", {SpaceKind::kBox}, Defaults, Plan);
}

}  // namespace waggle
