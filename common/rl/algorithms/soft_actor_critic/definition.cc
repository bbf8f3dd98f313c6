#include "common/rl/algorithms/soft_actor_critic/definition.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace waggle {

// The paper's 0.005 takes tens of thousands of steps to move values from 0 to 100, as if each step earned 1.
SoftActorCriticOptions::SoftActorCriticOptions() {
  target_update_rate = 0.02;
}

void SoftActorCriticOptions::Visit(ConfigVisitor& visitor) {
  // A learned temperature only begins with it.
  visitor.Double("temperature", &temperature, learn_temperature ? Above(0, 1e6) : Above(0, 1e6).Live());
  visitor.Bool("learn_temperature", &learn_temperature);
  const auto of_learned = [&](const char* key) {
    return visitor.Applies(key, learn_temperature,
                           "means nothing while learn_temperature is false; wanted none, or learn_temperature: true");
  };
  if (of_learned("target_entropy")) {
    visitor.OptionalDouble("target_entropy", &target_entropy, In(-1e6, 1e6).Live());
  }
  if (of_learned("temperature_optimizer")) {
    visitor.Section("temperature_optimizer", &temperature_optimizer);
  }
  OffPolicyActorCriticOptions::Visit(visitor);
}

AlgorithmPlan SoftActorCriticPlan(const SoftActorCriticOptions& options, const PlanContext& context, NetworkNeed actor,
                                  NetworkNeed critic) {
  AlgorithmPlan plan = OffPolicyActorCriticPlan(options, context, std::move(actor), std::move(critic));
  if (options.learn_temperature) {
    plan.scalars = {{"log_temperature", std::log(options.temperature), options.temperature_optimizer}};
  }
  return plan;
}

absl::Status CheckReachable(const std::string& key, const std::optional<double>& target, double most) {
  return !target.has_value() || *target < most
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("algorithm.", key, ": got ", *target, "; wanted less than ",
                                                       most, ", the entropy of a uniform policy"));
}

NetworkNeed TanhNormalActor() {
  return {"actor", {{"policy", HeadKind::kTanhNormal}}};
}

NetworkNeed ActionCritics(int64_t members, const HeadNeed& head) {
  NetworkNeed critic{"critic", {{"value", head}}};
  critic.takes_action = true;
  critic.members = members;
  return critic;
}

}  // namespace waggle
