#pragma once

#include <cstdint>

#include "common/rl/algorithms/soft_actor_critic/definition.h"

namespace waggle {

// CrossQ (Bhatt et al. 2024, arXiv 1902.05605): soft actor-critic without target networks. Critics with batch
// normalisation see a transition's both ends as one batch.
struct CrossqOptions : public SoftActorCriticOptions {
  int64_t critics = 2;       // The least of them counts.
  int64_t policy_delay = 3;  // Steps of the critics for one of the actor.

  CrossqOptions();

  void Visit(ConfigVisitor& visitor) override;
  bool has_target() const override { return false; }
};

}  // namespace waggle
