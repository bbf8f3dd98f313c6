#pragma once

#include <cstdint>
#include <optional>

#include "common/experiment/algorithm_definition.h"
#include "common/plan/entropy_options.h"
#include "common/plan/optimizer_options.h"

namespace waggle {

// Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347): several passes over the same unrolls, in which
// the policy gains nothing by moving further than `clip` from the one that acted.
struct PpoOptions : public AlgorithmOptions {
  int64_t unroll = 64;  // Steps of each lane that a learner step learns from.
  int64_t epochs = 10;  // Passes over them, in a new order each.
  // Parts of a pass, each of which is a step of the optimizer: at most as many as the pass has steps, or unrolls where
  // the network has a core.
  int64_t minibatches = 4;
  double discount = 0.99;  // A step.
  double lambda = 0.95;    // Of the generalised advantages (arXiv 1506.02438): 0 trusts the values, 1 the rewards.
  Schedule clip = 0.2;     // Of the ratio between the action's probabilities now and when it was taken.
  std::optional<double> value_clip;  // How far a value may gain by moving from what it was before; absent: any way.
  double value_weight = 0.5;
  bool normalize_returns = true;     // Rewards are put on the scale on which returns have a deviation of 1.
  bool normalize_advantages = true;  // To mean 0 and variance 1 over a minibatch.
  // The passes end once the policy's divergence from the one that acted is more, in nats a step; absent: never.
  std::optional<double> max_divergence;
  EntropyOptions entropy;
  OptimizerOptions optimizer;

  PpoOptions();

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return absl::OkStatus(); }
};

}  // namespace waggle
