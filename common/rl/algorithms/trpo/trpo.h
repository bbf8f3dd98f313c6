#pragma once

#include <cstdint>
#include <string>

#include "common/config/experiment/algorithm_definition.h"
#include "common/config/plan/optimizer_options.h"

namespace waggle {

// Trust region policy optimisation (Schulman et al. 2015, arXiv 1502.05477): a natural gradient step of the policy that
// ends at a given divergence from the policy that acted, and steps of a value by ordinary descent.
struct TrpoOptions : public AlgorithmOptions {
  int64_t unroll = 64;               // Steps of each lane in a learner step.
  double discount = 0.99;            // Per step.
  double lambda = 0.95;              // lambda of generalised advantages (arXiv 1506.02438): 0 trusts values, 1 rewards.
  bool normalize_returns = true;     // Scales rewards so that returns have a deviation of 1.
  bool normalize_advantages = true;  // Scales them to mean 0 and variance 1 within a learner step.

  double max_divergence = 0.01;  // The new policy's, from the acting one, in nats a step.
  double damping = 0.1;          // Added to the diagonal of the Fisher information.
  // Products of the Fisher information with a vector: "direct" differentiates the divergence twice, "fim" multiplies by
  // the derivatives of the distribution's parameters and their own information. Both are exact.
  std::string fisher = "fim";
  int64_t conjugate_steps = 10;
  double conjugate_residual = 1e-10;  // Squared norm at which they end early.
  int64_t backtracks = 10;            // Tried lengths of the step, each half of the one before.

  int64_t value_steps = 20;    // Optimizer steps of the value from the same unrolls.
  OptimizerOptions optimizer;  // The value's.

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return absl::OkStatus(); }
};

}  // namespace waggle
