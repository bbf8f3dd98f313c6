#include "common/rl/modules/definitions.h"
#include "common/rl/modules/rnd/rnd.h"

namespace waggle {
namespace {

absl::Status Extend(const RndOptions& options, const PlanContext& context, AlgorithmPlan* plan) {
  const std::map<std::string, HeadNeed> heads = {{"features", {HeadKind::kVector, options.features}}};
  NetworkNeed target{kRndTarget, heads};
  target.learns = false;
  NetworkNeed predictor{kRndPredictor, heads, options.optimizer};
  for (NetworkNeed need : {target, predictor}) {
    need.is_modules = true;
    plan->networks.push_back(need);
  }
  ShowAllRows(context.environment.observations, plan);
  return CheckBonus(options, context, {kRndTarget, kRndPredictor});
}

}  // namespace

ModuleDefinition rnd_module_definition() {
  return DefineModule("A bonus for observations that are new to a predictor of random features", ModuleStage::kRewards,
                      Extend);
}

}  // namespace waggle
