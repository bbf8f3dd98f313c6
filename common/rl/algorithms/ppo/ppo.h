#pragma once

#include <cstdint>
#include <optional>

#include "common/config/schedule.h"
#include "common/rl/algorithms/actor_critic/definition.h"

namespace waggle {

// Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347): several passes over the same unrolls, in which
// the policy gains nothing by moving further than `clip` from the one that acted.
struct PpoOptions : public ActorCriticOptions {
  int64_t epochs = 10;  // Passes over the unrolls, in a new order each.
  // Parts of a pass, each of which is a step of the optimizer: at most as many as the pass has steps, or unrolls where
  // the network has a core.
  int64_t minibatches = 4;
  Schedule clip = 0.2;               // Of the ratio between the action's probabilities now and when it was taken.
  std::optional<double> value_clip;  // How far a value may gain by moving from what it was before; absent: any way.
  // The passes end once the policy's divergence from the one that acted is more, in nats a step; absent: never.
  std::optional<double> max_divergence;

  PpoOptions();

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
