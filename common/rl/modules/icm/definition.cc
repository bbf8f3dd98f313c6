#include "common/config/plan/head_kinds.h"
#include "common/rl/modules/definitions.h"
#include "common/rl/modules/icm/icm.h"

namespace waggle {
namespace {

absl::Status Extend(const IcmOptions& options, const PlanContext& context, AlgorithmPlan* plan) {
  const HeadNeed features(HeadKind::kVector, options.features);
  plan->networks.push_back({kIcmFeatures, {{"features", features}}, options.optimizer});
  NetworkNeed inverse{kIcmInverse, {{"action", PolicyHead(context.environment)}}, options.optimizer};
  inverse.takes_observation = false;
  inverse.extra = {{"features", options.features}, {"next_features", options.features}};
  plan->networks.push_back(inverse);
  NetworkNeed forward{kIcmForward, {{"features", features}}, options.optimizer};
  forward.takes_observation = false;
  forward.takes_action = true;
  forward.extra = {{"features", options.features}};
  plan->networks.push_back(forward);
  ShowAllRows(context.environment.observations, plan);
  ShowAllRows(context.environment.actions, plan);
  return CheckOneReward(context.environment);
}

}  // namespace

ModuleDefinition icm_module_definition() {
  return DefineModule("A bonus for steps whose outcome a forward model does not predict", ModuleStage::kRewards,
                      Extend);
}

}  // namespace waggle
