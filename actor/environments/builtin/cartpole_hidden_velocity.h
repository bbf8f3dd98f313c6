#pragma once

#include <cstdint>

#include "actor/environments/builtin/cartpole.h"

namespace waggle {

// CartPole that shows the cart's position and the pole's angle alone, for policies that remember.
class CartPoleHiddenVelocity : public CartPole {
 public:
  static EnvironmentSpec Spec(const Settings& settings) { return CartPole::Spec(settings, Shown::kPositions); }

  CartPoleHiddenVelocity(const Settings& settings, uint64_t seed) : CartPole(settings, seed, Shown::kPositions) {}
};

}  // namespace waggle
