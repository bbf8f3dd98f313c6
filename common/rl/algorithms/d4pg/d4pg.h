#pragma once

#include <cstdint>

#include "common/rl/algorithms/deterministic_actor_critic/definition.h"

namespace waggle {

// Distributed distributional deterministic policy gradients (Barth-Maron et al. 2018, arXiv 1804.08617): DDPG whose
// critic learns the distribution of returns over evenly spaced atoms (C51), from n-step transitions drawn by priority.
struct D4pgOptions : public DeterministicActorCriticOptions {
  int64_t atoms = 101;
  // The values of the lowest and the highest atom: bounds of the discounted returns.
  double low = -1'000;
  double high = 1'000;

  D4pgOptions();

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override;
};

}  // namespace waggle
