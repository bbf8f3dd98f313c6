#pragma once

#include <cstdint>

#include "common/experiment/algorithm_definition.h"
#include "common/plan/exploration_options.h"
#include "common/plan/optimizer_options.h"

namespace waggle {

// Deep deterministic policy gradient (Lillicrap et al. 2015, arXiv 1509.02971): an actor that climbs the critic's value
// of its actions, learned from transitions of any policy.
struct DdpgOptions : public AlgorithmOptions {
  int64_t n_step = 1;          // Rewards that are summed before the critic takes over; fewer where an episode ends.
  double discount = 0.99;      // A step.
  double update_rate = 0.005;  // The share of both networks that their targets take over after every step.

  ExplorationOptions exploration;
  OptimizerOptions actor_optimizer, critic_optimizer;

  DdpgOptions();

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return absl::OkStatus(); }
};

}  // namespace waggle
