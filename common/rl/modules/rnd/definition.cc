#include "common/rl/modules/definitions.h"
#include "common/rl/modules/rnd/rnd.h"

namespace waggle {
namespace {

absl::Status Extend(const RndOptions& options, const PlanContext& context, AlgorithmPlan* plan) {
  const std::map<std::string, HeadNeed> heads = {{"features", {HeadKind::kVector, options.features}}};
  NetworkNeed target{kRndTarget, heads};
  target.learns = false;
  plan->networks.push_back(target);
  plan->networks.push_back({kRndPredictor, heads, options.optimizer});
  ShowAllRows(context.environment.observations, plan);
  return CheckOneReward(context.environment);
}

}  // namespace

ModuleDefinition rnd_module_definition() {
  return DefineModule("A bonus for observations that are new to a predictor of random features", ModuleStage::kRewards,
                      Extend);
}

}  // namespace waggle
