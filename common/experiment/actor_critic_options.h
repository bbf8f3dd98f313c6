#pragma once

#include <cstdint>

#include "common/experiment/algorithm_definition.h"
#include "common/plan/entropy_options.h"
#include "common/plan/optimizer_options.h"

namespace waggle {

// What algorithms have in common whose policy follows its advantages in unrolls of the newest weights.
struct ActorCriticOptions : public AlgorithmOptions {
  int64_t unroll = 64;     // Steps of each lane that a learner step learns from.
  double discount = 0.99;  // A step.
  double lambda = 0.95;    // Of the generalised advantages (arXiv 1506.02438): 0 trusts the values, 1 the rewards.
  double value_weight = 0.5;
  bool normalize_returns = true;     // Rewards are put on the scale on which returns have a deviation of 1.
  bool normalize_advantages = true;  // To mean 0 and variance 1 over what a step of the optimizer learns from.
  EntropyOptions entropy;
  OptimizerOptions optimizer;

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return absl::OkStatus(); }
};

}  // namespace waggle
