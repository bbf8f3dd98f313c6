#pragma once

#include "common/rl/algorithms/ddpg/ddpg.h"

namespace waggle {

// Hysteretic DDPG: as in hysteretic Q-learning (Matignon et al. 2007, "Hysteretic Q-learning"), critics follow good
// surprises faster than bad ones, which may be due to others' exploration.
struct HddpgOptions : public DdpgOptions {
  double increase_rate = 1;    // Weight of TD errors by which the value grows,
  double decrease_rate = 0.5;  // and of others.

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
