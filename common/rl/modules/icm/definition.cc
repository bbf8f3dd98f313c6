#include "common/config/plan/head_kinds.h"
#include "common/rl/modules/definitions.h"
#include "common/rl/modules/icm/icm.h"

namespace waggle {
namespace {

absl::Status Extend(const IcmOptions& options, const PlanContext& context, AlgorithmPlan* plan) {
  const HeadNeed features(HeadKind::kVector, options.features);
  NetworkNeed encoder{kIcmFeatures, {{"features", features}}, options.optimizer};
  NetworkNeed inverse{kIcmInverse, {{"action", PolicyHead(context.environment)}}, options.optimizer};
  inverse.takes_observation = false;
  inverse.extra = {{"features", options.features}, {"next_features", options.features}};
  NetworkNeed forward{kIcmForward, {{"features", features}}, options.optimizer};
  forward.takes_observation = false;
  forward.takes_action = true;
  forward.extra = {{"features", options.features}};
  for (NetworkNeed need : {encoder, inverse, forward}) {
    need.is_modules = true;
    plan->networks.push_back(need);
  }
  ShowAllRows(context.environment.observations, plan);
  ShowAllRows(context.environment.actions, plan);
  return CheckBonus(options, context, {kIcmFeatures, kIcmInverse, kIcmForward});
}

}  // namespace

ModuleDefinition icm_module_definition() {
  return DefineModule("A bonus for steps whose outcome a forward model does not predict", ModuleStage::kRewards,
                      Extend);
}

}  // namespace waggle
