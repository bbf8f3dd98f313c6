#pragma once

#include <cstdint>
#include <optional>

#include "common/rl/algorithms/off_policy_actor_critic/definition.h"

namespace waggle {

// Soft actor-critic (Haarnoja et al. 2018, arXiv 1812.05905): a random policy that is paid for its entropy, learned
// from transitions of any policy. Of one choice from several: with exact expectations (Christodoulou 2019, arXiv
// 1910.07207).
struct SacOptions : public OffPolicyActorCriticOptions {
  // Of the entropy of a uniform choice among the legal ones. The paper's 0.98 is too near to that: a policy that is
  // paid for entropy at every step gives some of it up to keep an episode from ending, however high the temperature is.
  // In CartPole-v1 the temperature rises past 10,000, where rewards no longer count.
  static constexpr double kShareOfUniformEntropy = 0.5;

  int64_t critics = 2;  // Of which the least counts.

  double temperature = 1;         // What a nat of entropy is worth in rewards; where it is learned, at first.
  bool learn_temperature = true;  // So that the policy's entropy comes to target_entropy.
  // In nats. Absent: of real actions in [-1, 1] minus the number of their elements, of choices kShareOfUniformEntropy.
  std::optional<double> target_entropy;

  OptimizerOptions temperature_optimizer;

  SacOptions();

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
