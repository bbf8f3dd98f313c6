#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/rl/algorithms/mixed_soft_actor_critic/mixed.h"

namespace waggle {

absl::Status CheckChoice(const SacOptions& options, const EnvironmentSpec& environment) {
  const JointAction action = JointActionOf(environment);
  if (options.choice_target_entropy.has_value() && !IsMixed(action)) {
    return absl::InvalidArgumentError(absl::StrCat("algorithm.choice_target_entropy: got ",
                                                   *options.choice_target_entropy,
                                                   ", for a choice beside real actions, and ", environment.name,
                                                   " takes ", action.Name(), " ones; wanted none, or target_entropy"));
  }
  const double most = std::log(static_cast<double>(action.TotalChoices()));
  return IsMixed(action)         ? CheckReachable("choice_target_entropy", options.choice_target_entropy, most)
         : action.num_reals == 0 ? CheckReachable("target_entropy", options.target_entropy, most)
                                 : absl::OkStatus();
}

AlgorithmPlan MixedPlan(const SacOptions& options, const PlanContext& context) {
  const JointAction action = JointActionOf(context.environment);
  NetworkNeed critic{"critic", {{kChoiceValues, {HeadKind::kVector, action.TotalChoices()}}}};
  critic.extra = {{"action", action.num_reals}};
  critic.members = options.critics;
  critic.acts = true;
  AlgorithmPlan plan = SoftActorCriticPlan(options, context, TanhNormalActor(), critic);
  plan.own_policy = true;
  if (options.learn_temperature) {
    plan.scalars.push_back(
        {kChoiceTemperature, std::log(options.temperature), options.temperature_optimizer, /*acts=*/true});
  }
  return plan;
}

}  // namespace waggle
