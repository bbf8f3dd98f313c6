#include "common/rl/algorithms/soft_prior/definition.h"

#include "absl/strings/str_cat.h"
#include "common/config/spec/joint_action.h"

namespace waggle {

void SoftPriorOptions::Visit(ConfigVisitor& visitor) {
  visitor.Choice("type", &type, {"none", "uniform", "truncated_normal", "same_action"});
  const auto of_type = [&](const char* key, bool has_meaning, const char* types) {
    return visitor.Applies(key, has_meaning,
                           absl::StrCat("means nothing to the type ", type, "; wanted none, or the type ", types));
  };
  if (of_type("deviation", type == "truncated_normal" || needs_action_before(), "truncated_normal or same_action")) {
    visitor.Double("deviation", &deviation, In(0.001, 1'000).Live());
  }
  if (of_type("same_action_probability", needs_action_before(), "same_action")) {
    visitor.Double("same_action_probability", &same_action_probability, In(0, 1).Live());
  }
  if (of_type("same_action_noise", needs_action_before(), "same_action")) {
    visitor.Double("same_action_noise", &same_action_noise, In(0.001, 1'000).Live());
  }
}

void PriorSoftActorCriticOptions::Visit(ConfigVisitor& visitor) {
  visitor.Section("prior", &prior);
  SoftActorCriticOptions::Visit(visitor);
  if (visitor.Applies("target_divergence", prior.is_given() && learn_temperature,
                      "means nothing without a prior and a learned temperature; wanted none")) {
    visitor.Double("target_divergence", &target_divergence, In(0, 1e6).Live());
  }
}

absl::Status PriorSoftActorCriticOptions::Validate() const {
  if (prior.is_given() && target_entropy.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("target_entropy: got ", *target_entropy, " beside a prior; wanted none, or target_divergence"));
  }
  return absl::OkStatus();
}

double PriorSoftActorCriticOptions::RealTarget(int64_t elements) const {
  const auto count = static_cast<double>(elements);
  return prior.is_given() ? -target_divergence * count : target_entropy.value_or(-count);
}

absl::Status CheckPrior(const SoftPriorOptions& prior, const EnvironmentSpec& environment, int64_t burn_in) {
  const JointAction action = JointActionOf(environment);
  if (prior.is_given() && action.num_choosing() > 0) {
    return absl::InvalidArgumentError(absl::StrCat("algorithm.prior.type: got ", prior.type,
                                                   ", a density of real actions, and ", environment.name, " takes ",
                                                   action.Name(), " ones; wanted none"));
  }
  if (prior.needs_action_before() && burn_in < 1) {
    return absl::InvalidArgumentError(
        "algorithm.burn_in: got 0; wanted at least 1, a step that shows the action before, for the prior same_action");
  }
  return absl::OkStatus();
}

}  // namespace waggle
