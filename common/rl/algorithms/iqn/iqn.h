#pragma once

#include <cstdint>

#include "common/rl/algorithms/value_based/definition.h"

namespace waggle {

// Implicit quantile networks (Dabney et al. 2018, arXiv 1806.06923): Q-learning of quantiles of returns at drawn
// fractions, which are inputs of the network.
struct IqnOptions : public ValueBasedOptions {
  int64_t samples = 8;          // Drawn fractions of the taken action's value; N in the paper.
  int64_t target_samples = 8;   // The same for the target; N'.
  int64_t acting_samples = 32;  // Fractions whose mean chooses actions; K.
  int64_t embedding = 64;       // Cosines of a fraction.
  double huber_threshold = 1;   // Errors above count linearly; 0: all do.

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
