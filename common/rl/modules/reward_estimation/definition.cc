#include "common/rl/modules/intrinsic/definition.h"

#include "common/base/status_macros.h"
#include "common/rl/modules/definitions.h"
#include "common/rl/modules/reward_estimation/reward_estimation.h"

namespace waggle {
namespace {

absl::Status Extend(const RewardEstimationOptions& options, const PlanContext& context, AlgorithmPlan* plan) {
  WAGGLE_RETURN_IF_ERROR(CheckScalarReward(context));
  NetworkNeed model{kRewardModel, {{"reward", {HeadKind::kVector, 1}}}, options.optimizer};
  model.takes_action = true;
  model.is_modules = true;
  plan->networks.push_back(model);
  ShowAllRows(context.environment.observations, plan);
  ShowAllRows(context.environment.actions, plan);
  return CheckNoCore(context, {kRewardModel});
}

}  // namespace

void RewardEstimationOptions::Visit(ConfigVisitor& visitor) {
  visitor.Double("weight", &weight, In(0, 1).Live());
  visitor.Section("optimizer", &optimizer);
}

ModuleDefinition reward_estimation_module_definition() {
  return DefineModule("A model's rewards in place of the environment's", ModuleStage::kRewards, Extend);
}

}  // namespace waggle
