#pragma once

#include <cstdint>

#include "common/rl/algorithms/a2c/a2c.h"

namespace waggle {

// A trust-region actor-critic, as ALF's TracAlgorithm: a step of A2C whose policy has moved too far is pulled back
// towards the policy before it.
struct TracOptions : public A2cOptions {
  // The largest move of a step: the mean symmetric divergence of the policies before and after it, in nats for each
  // element of the action.
  double max_divergence = 0.01;
  int64_t max_pulls = 100;  // The last pull stands, even if the policy is still further away.

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
