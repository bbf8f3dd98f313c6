#pragma once

#include <cstdint>

#include "common/experiment/algorithm_definition.h"
#include "common/plan/entropy_options.h"
#include "common/plan/optimizer_options.h"

namespace waggle {

// Advantage actor-critic (Mnih et al. 2016, arXiv 1602.01783) whose actors wait for each other: every learner step
// takes a few steps of all lanes, acted by the weights that it changes.
struct A2cOptions : public AlgorithmOptions {
  int64_t unroll = 8;      // Steps of each lane that a learner step learns from.
  double discount = 0.99;  // A step.
  double lambda = 0.95;    // Of the generalised advantages: 0 trusts the values, 1 the rewards.
  double value_weight = 0.5;
  bool normalize_returns = true;      // Rewards are put on the scale on which returns have a deviation of 1.
  bool normalize_advantages = false;  // To mean 0 and variance 1 over what a learner step learns from.
  EntropyOptions entropy;
  OptimizerOptions optimizer;

  A2cOptions();

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return absl::OkStatus(); }
};

}  // namespace waggle
