#pragma once

#include <cstdint>

#include "common/rl/algorithms/value_based/definition.h"

namespace waggle {

// QMIX (Rashid et al. 2018, arXiv 1803.11485): each agent has values of its own choices, and a network that sees what
// all agents see mixes those of the taken ones into the value of the team. The mixture grows with each agent's value,
// so that the best choice of all together is the best of each.
struct QmixOptions : public ValueBasedOptions {
  bool share = false;         // One network of values for all agents, whose spaces must be equal.
  int64_t mixing_units = 32;  // The width of the mixture's hidden layer.

  QmixOptions();

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
