#pragma once

#include "common/rl/algorithms/value_based/definition.h"

namespace waggle {

// Munchausen DQN (Vieillard et al. 2020, arXiv 2007.14430): soft Q-learning that is paid for the logarithm of its own
// policy, softmax(q / temperature).
struct MDqnOptions : public ValueBasedOptions {
  double temperature = 0.03;
  double munchausen_weight = 0.9;  // The share of the scaled logarithm that is added to the reward.
  double lowest_logarithm = -1;    // The scaled logarithm is at least this.

  MDqnOptions() { n_step = 1; }

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
