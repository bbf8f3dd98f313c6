#pragma once

#include <cstdint>

#include "common/experiment/algorithm_definition.h"
#include "common/plan/exploration_options.h"
#include "common/plan/optimizer_options.h"

namespace waggle {

// Twin delayed deep deterministic policy gradient (Fujimoto et al. 2018, arXiv 1802.09477): DDPG against critics that
// overestimate, by the least of them, a noisy next action and an actor that waits for them.
struct Td3Options : public AlgorithmOptions {
  int64_t n_step = 1;          // Rewards that are summed before the critics take over; fewer where an episode ends.
  double discount = 0.99;      // A step.
  double update_rate = 0.005;  // The share of all networks that their targets take over whenever the actor steps.
  int64_t critics = 2;         // Of which the least counts.

  double target_noise = 0.2;       // Added to each element of each next action in [-1, 1]: its standard deviation,
  double target_noise_clip = 0.5;  // and the most that it may be.
  int64_t policy_delay = 2;        // The critics' steps from one of the actor's to the next.

  ExplorationOptions exploration;
  OptimizerOptions actor_optimizer, critic_optimizer;

  Td3Options();

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return absl::OkStatus(); }
};

}  // namespace waggle
