#pragma once

#include "common/rl/algorithms/multi_agent_ppo/definition.h"

namespace waggle {

// Multi-agent PPO (Yu et al. 2021, arXiv 2103.01955): each agent acts by its own observation, and learns by PPO with a
// value of the observations of all, its own first.
struct MappoOptions : public MultiAgentPpoOptions {
  MappoOptions() { value_clip = 0.2; }
};

}  // namespace waggle
