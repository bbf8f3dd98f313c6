#pragma once

#include "common/rl/algorithms/td3/td3.h"

namespace waggle {

// TD3 with behaviour cloning (Fujimoto and Gu 2021, arXiv 2106.06860): the actor climbs the value, divided by its mean
// size, and stays near recorded actions.
struct Td3BcOptions : public Td3Options {
  // alpha: the weight of the value beside the squared distance from the recorded action.
  double value_weight = 2.5;

  Td3BcOptions();

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
