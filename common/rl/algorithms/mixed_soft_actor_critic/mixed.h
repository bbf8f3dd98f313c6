#pragma once

#include "absl/status/status.h"
#include "common/config/spec/environment_spec.h"
#include "common/config/spec/joint_action.h"
#include "common/rl/algorithms/sac/sac.h"

namespace waggle {

// SAC of a choice beside real actions, as in ALF. A tanh-normal actor draws the real ones, a, and a critic gives each
// choice d its value beside them, Q(s, a, d). The choice is as likely as exp(Q / temperature), Q the least critic's; so
// it has no network of its own, but a temperature.

// The critics' head, and the logarithm of the choice's temperature if it is learned.
inline constexpr char kChoiceValues[] = "q";
inline constexpr char kChoiceTemperature[] = "log_choice_temperature";

inline bool IsMixed(const JointAction& action) {
  return action.num_reals > 0 && action.num_choosing() > 0;
}

// INVALID_ARGUMENT, behind its key, if the options have a target of a choice's entropy that no policy reaches, or one
// for a choice beside real actions and the environment has no such choice.
absl::Status CheckChoice(const SacOptions& options, const EnvironmentSpec& environment);

// The plan for one discrete action beside real ones. Actors need the critics too.
AlgorithmPlan MixedPlan(const SacOptions& options, const PlanContext& context);

}  // namespace waggle
