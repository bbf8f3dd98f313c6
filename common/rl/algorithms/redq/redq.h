#pragma once

#include <cstdint>

#include "common/rl/algorithms/soft_actor_critic/definition.h"

namespace waggle {

// Randomised ensembled double Q-learning (Chen et al. 2021, arXiv 2101.05982): soft actor-critic with many critics and
// many learner steps for each environment step. A target is the least of a few critics, drawn anew for each step.
struct RedqOptions : public SoftActorCriticOptions {
  int64_t critics = 10;
  int64_t target_critics = 2;  // Drawn for a target; at most critics.
  int64_t policy_delay = 20;   // Steps of the critics for one of the actor: the paper's ratio of updates to data.

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override;
};

}  // namespace waggle
