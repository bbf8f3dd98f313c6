#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/config/experiment/algorithm_definition.h"
#include "common/config/plan/exploration_options.h"
#include "common/config/plan/optimizer_options.h"

namespace waggle {

// Ape-X DQN (Horgan et al. 2018, arXiv 1803.00933): Q-learning from many actors' prioritised n-step transitions.
struct ApexDqnOptions : public AlgorithmOptions {
  // The last row's value. vanilla: the online network's maximum, without a target network; fixed_target: the target
  // network's maximum; double: the target network at the online network's best action.
  std::string mode = "double";
  int64_t n_step = 3;          // Rewards summed before a value takes over; fewer at an episode's end.
  double discount = 0.99;      // Per step.
  std::string loss = "huber";  // The TD error's loss: huber (quadratic up to 1, then linear) or mse.

  // How the target network follows. Giving both is an error. target_update_rate is the share of the online network that
  // it takes over after each learner step, 0.01 if neither is given. update_steps are learner steps between copies.
  std::optional<double> target_update_rate;
  int64_t update_steps = 0;

  ExplorationOptions exploration{"epsilon_greedy", 0, 0.4, 7};
  OptimizerOptions optimizer;

  ApexDqnOptions();

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override;

  // target_update_rate, or its default if neither is given.
  double EffectiveTargetUpdateRate() const;
};

}  // namespace waggle
