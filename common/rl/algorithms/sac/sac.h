#pragma once

#include <cstdint>
#include <optional>

#include "common/rl/algorithms/off_policy_actor_critic/definition.h"

namespace waggle {

// Soft actor-critic (Haarnoja et al. 2018, arXiv 1812.05905): a random policy that is paid for its entropy, learned
// from any policy's transitions. Single choices use exact expectations (Christodoulou 2019, arXiv 1910.07207).
struct SacOptions : public OffPolicyActorCriticOptions {
  // Default target, as a share of a uniform choice's entropy. The paper's 0.98 is too high: policies give up some
  // entropy to prolong an episode. In CartPole-v1 the temperature then passes 10,000, above which rewards do not count.
  static constexpr double kShareOfUniformEntropy = 0.5;

  int64_t critics = 2;  // The least of them counts.

  double temperature = 1;         // Worth of a nat of entropy in rewards; the initial one if learned.
  bool learn_temperature = true;  // So that the policy's entropy approaches target_entropy.
  // In nats. Absent: minus the number of real elements, or kShareOfUniformEntropy for choices.
  std::optional<double> target_entropy;

  OptimizerOptions temperature_optimizer;

  SacOptions();

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
