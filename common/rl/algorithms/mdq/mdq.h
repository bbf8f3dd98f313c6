#pragma once

#include <cstdint>

#include "common/rl/algorithms/soft_actor_critic/definition.h"

namespace waggle {

// Multi-dimensional Q-learning of real actions, after ALF's MDQ and the discrete sequential prediction of Metz et al.
// (2017, arXiv 1705.05035). Each element of an action is one of a few evenly spaced numbers, and the policy chooses
// elements in their order, each given those before. Its values, in advantage form, are distilled from critics, which
// are free in form. The policy is paid for its entropy.
struct MdqOptions : public SoftActorCriticOptions {
  int64_t bins = 11;            // The numbers of an element, from one end of its interval to the other.
  int64_t critics = 2;          // The least of them counts.
  double distill_noise = 0.01;  // Standard deviation of noise in distilled actions, as a share of the interval.

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
