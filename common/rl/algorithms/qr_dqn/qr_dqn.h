#pragma once

#include <cstdint>

#include "common/rl/algorithms/value_based/definition.h"

namespace waggle {

// Quantile regression DQN (Dabney et al. 2017, arXiv 1710.10044): Q-learning of quantiles of each choice's return.
struct QrDqnOptions : public ValueBasedOptions {
  int64_t quantiles = 50;
  double huber_threshold = 1;     // Errors above count linearly; 0: all do.
  bool double_selection = false;  // The online network chooses the next action; otherwise the target does.

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
