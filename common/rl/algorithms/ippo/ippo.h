#pragma once

#include "common/rl/algorithms/multi_agent_ppo/definition.h"

namespace waggle {

// Independent PPO (de Witt et al. 2020, arXiv 2011.09533): each agent learns by PPO from its own observations, actions
// and rewards alone, by networks of its own or by one for all.
struct IppoOptions : public MultiAgentPpoOptions {};

}  // namespace waggle
