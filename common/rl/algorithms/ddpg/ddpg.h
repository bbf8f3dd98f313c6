#pragma once

#include "common/rl/algorithms/off_policy_actor_critic/definition.h"

namespace waggle {

// Deep deterministic policy gradient (Lillicrap et al. 2015, arXiv 1509.02971): an actor that climbs the critic's value
// of its actions, learned from any policy's transitions.
struct DdpgOptions : public OffPolicyActorCriticOptions {
  DdpgOptions();
};

}  // namespace waggle
