#pragma once

#include "common/rl/algorithms/actor_critic/definition.h"

namespace waggle {

// Asynchronous advantage actor-critic (Mnih et al. 2016, arXiv 1602.01783): every actor computes the gradient of its
// own unrolls and pushes it, and none waits for another.
struct A3cOptions : public ActorCriticOptions {
  A3cOptions();
};

}  // namespace waggle
