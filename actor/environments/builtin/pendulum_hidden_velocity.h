#pragma once

#include <cstdint>

#include "actor/environments/builtin/pendulum.h"

namespace waggle {

// Pendulum that shows its angle's cosine and sine alone, for policies that remember.
class PendulumHiddenVelocity : public Pendulum {
 public:
  static EnvironmentSpec Spec(const Settings& settings) { return Pendulum::Spec(settings, Shown::kPosition); }

  PendulumHiddenVelocity(const Settings& settings, uint64_t seed) : Pendulum(settings, seed, Shown::kPosition) {}
};

}  // namespace waggle
