#pragma once

#include <cstdint>

#include "common/rl/algorithms/sac/sac.h"

namespace waggle {

// Conservative Q-learning (Kumar et al. 2020, arXiv 2006.04779), CQL(H) on soft actor-critic: critics also learn that
// actions which were not recorded are worth less than those that were.
struct CqlOptions : public SacOptions {
  double conservative_weight = 5;  // alpha: the weight of the conservative term beside the critics' errors.
  // Real actions that are drawn from the policy for each state, and as many from a uniform distribution, to estimate
  // the sum over all actions.
  int64_t sampled_actions = 10;

  CqlOptions();

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
