#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/experiment/algorithm_definition.h"
#include "common/plan/exploration_options.h"
#include "common/plan/optimizer_options.h"

namespace waggle {

// Ape-X DQN (Horgan et al. 2018, arXiv 1803.00933): Q-learning from prioritised n-step transitions that many exploring
// actors write.
struct ApexDqnOptions : public AlgorithmOptions {
  // Where the value of the last row comes from: vanilla: max of the online network itself, there is no target network;
  // fixed_target: max of the target network; double: the target network at the online network's best action.
  std::string mode = "double";
  int64_t n_step = 3;          // Rewards that are summed before a value takes over; fewer where an episode ends.
  double discount = 0.99;      // A step.
  std::string loss = "huber";  // Of the TD error: huber (quadratic up to 1, linear beyond) or mse.

  // The target network follows by one of the two; giving both is an error. target_update_rate is the share of the
  // online network that it takes over after every learner step, 0.01 if neither is given; update_steps are the learner
  // steps from one copy of the online network to the next.
  std::optional<double> target_update_rate;
  int64_t update_steps = 0;

  ExplorationOptions exploration{"epsilon_greedy", 0, 0.4, 7};
  OptimizerOptions optimizer;

  ApexDqnOptions();

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override;

  // What target_update_rate means where neither it nor update_steps was given.
  double EffectiveTargetUpdateRate() const;
};

}  // namespace waggle
