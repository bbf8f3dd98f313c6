#pragma once

#include <cstdint>

#include "common/rl/algorithms/off_policy_actor_critic/definition.h"

namespace waggle {

// Maximum a posteriori policy optimisation (Abdolmaleki et al. 2018, arXiv 1806.06920 and 1812.02256): the target
// policy is weighed by its critic, and the policy is fitted to the result without moving far. Learned from any policy's
// transitions.
struct MpoOptions : public OffPolicyActorCriticOptions {
  int64_t samples = 20;      // Real actions drawn from the target policy for each expectation. Choices are all weighed.
  int64_t policy_steps = 1;  // Steps of the policy towards one improvement.
  // Divergences in nats: of the weighed target policy from the target policy, and of the policy from its target, by the
  // choices' probabilities, or by the means and by the standard deviations of real elements.
  double improvement = 0.1;
  double policy_divergence = 0.01;
  double mean_divergence = 0.01;
  double stddev_divergence = 1e-3;
  double multiplier = 1;  // First value of the learned weights of the last three.

  OptimizerOptions multiplier_optimizer;

  MpoOptions();

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
