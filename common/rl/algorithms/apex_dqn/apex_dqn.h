#pragma once

#include <string>

#include "common/rl/algorithms/value_based/definition.h"

namespace waggle {

// Ape-X DQN (Horgan et al. 2018, arXiv 1803.00933): Q-learning from many actors' prioritised n-step transitions.
struct ApexDqnOptions : public ValueBasedOptions {
  // The last row's value. vanilla: the online network's maximum, without a target network; fixed_target: the target
  // network's maximum; double: the target network at the online network's best action.
  std::string mode = "double";
  std::string loss = "huber";  // The TD error's loss: huber (quadratic up to 1, then linear) or mse.

  bool has_target() const { return mode != "vanilla"; }

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return ValidateTarget(has_target()); }
};

}  // namespace waggle
