#pragma once

#include "common/rl/algorithms/actor_critic/definition.h"

namespace waggle {

// Asynchronous advantage actor-critic (Mnih et al. 2016, arXiv 1602.01783): each actor pushes the gradient of its own
// unrolls and waits for no other.
struct A3cOptions : public ActorCriticOptions {
  A3cOptions();
};

}  // namespace waggle
