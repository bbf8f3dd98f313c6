#pragma once

#include <cstdint>

#include "common/rl/algorithms/off_policy_actor_critic/definition.h"

namespace waggle {

// Twin delayed deep deterministic policy gradient (Fujimoto et al. 2018, arXiv 1802.09477): DDPG against critics that
// overestimate, by the least of them, a noisy next action and an actor that waits for them.
struct Td3Options : public OffPolicyActorCriticOptions {
  int64_t critics = 2;  // Of which the least counts.

  double target_noise = 0.2;       // Added to each element of each next action in [-1, 1]: its standard deviation,
  double target_noise_clip = 0.5;  // and the most that it may be.
  int64_t policy_delay = 2;        // The critics' steps from one of the actor's to the next.

  Td3Options();

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
