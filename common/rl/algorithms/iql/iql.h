#pragma once

#include "common/rl/algorithms/off_policy_actor_critic/definition.h"

namespace waggle {

// Implicit Q-learning (Kostrikov et al. 2021, arXiv 2110.06169): values of recorded actions alone, of which an
// expectile stands for the best one, and a policy that imitates those with an advantage.
struct IqlOptions : public OffPolicyActorCriticOptions {
  int64_t critics = 2;                // The least of them counts.
  double expectile = 0.8;             // tau: 0.5 is the mean of a state's recorded actions, 1 their best.
  double temperature = 1;             // 1 / beta: advantages are divided by it.
  double max_advantage_weight = 100;  // The most that a recorded action counts.
  OptimizerOptions value_optimizer;

  IqlOptions();

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
