#pragma once

#include "common/rl/algorithms/actor_critic/definition.h"

namespace waggle {

// Advantage actor-critic (Mnih et al. 2016, arXiv 1602.01783) with synchronous actors: each learner step takes a few
// steps of all lanes, acted by the weights that it changes.
struct A2cOptions : public ActorCriticOptions {
  A2cOptions();
};

}  // namespace waggle
