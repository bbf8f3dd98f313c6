#pragma once

#include <cstdint>

#include "common/rl/algorithms/value_based/definition.h"

namespace waggle {

// SARSA(lambda) (Rummery and Niranjan 1994, "On-Line Q-Learning Using Connectionist Systems"): the values of choices by
// the policy that acts, exploration included. A value's target has the next action that was taken, not the best one.
struct SarsaOptions : public ValueBasedOptions {
  int64_t sequence = 8;  // Steps of an item.
  double lambda = 0.9;   // 0: the value of the next action; 1: the rewards up to the sequence's end.

  SarsaOptions();

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
