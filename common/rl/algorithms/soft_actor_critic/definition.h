#pragma once

#include <optional>
#include <string>

#include "common/rl/algorithms/off_policy_actor_critic/definition.h"

namespace waggle {

// The options of algorithms whose random policy is paid for its entropy.
struct SoftActorCriticOptions : public OffPolicyActorCriticOptions {
  double temperature = 1;         // Worth of a nat of entropy in rewards; the initial one if learned.
  bool learn_temperature = true;  // So that the policy's entropy approaches target_entropy.
  // In nats. Absent: minus the number of real elements; of choices, see SacOptions.
  std::optional<double> target_entropy;

  OptimizerOptions temperature_optimizer;

  SoftActorCriticOptions();

  void Visit(ConfigVisitor& visitor) override;
};

// The share of the largest error in a sequence's priority; the rest is that of the mean error, as in R2D2.
inline constexpr double kLargestErrorShare = 0.9;

// Their plan: that of OffPolicyActorCriticPlan, and a learned logarithm of the temperature.
AlgorithmPlan SoftActorCriticPlan(const SoftActorCriticOptions& options, const PlanContext& context, NetworkNeed actor,
                                  NetworkNeed critic);

// INVALID_ARGUMENT if a given target of an entropy, `algorithm.KEY`, is not below that of a uniform policy, `most`: the
// temperature would grow for ever.
absl::Status CheckReachable(const std::string& key, const std::optional<double>& target, double most);

// A tanh-normal actor.
NetworkNeed TanhNormalActor();

// Critics, side by side, of this head's name and kind, which take the action.
NetworkNeed ActionCritics(int64_t members, const HeadNeed& head);

}  // namespace waggle
