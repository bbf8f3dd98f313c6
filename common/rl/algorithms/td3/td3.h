#pragma once

#include <cstdint>

#include "common/rl/algorithms/deterministic_actor_critic/definition.h"

namespace waggle {

// Twin delayed deep deterministic policy gradient (Fujimoto et al. 2018, arXiv 1802.09477): DDPG that avoids
// overestimates by the least of several critics, a noisy next action and delayed actor steps.
struct Td3Options : public DeterministicActorCriticOptions {
  int64_t critics = 2;  // The least of them counts.

  double target_noise = 0.2;       // Standard deviation of the noise added to next actions in [-1, 1],
  double target_noise_clip = 0.5;  // and its largest absolute value.
  int64_t policy_delay = 2;        // Critic steps for each actor step.

  Td3Options();

  void Visit(ConfigVisitor& visitor) override;
};

// The plan of TD3 and of algorithms that extend it.
absl::StatusOr<AlgorithmPlan> Td3Plan(const Td3Options& options, const PlanContext& context);

}  // namespace waggle
