#pragma once

#include "absl/status/status.h"
#include "common/config/experiment/module_definition.h"
#include "common/config/plan/optimizer_options.h"

namespace waggle {

// A model of the environment's rewards, from which the algorithm learns in their place: an average of rewards that
// chance moves, as in ALF's reward_learning_algorithm.
struct RewardEstimationOptions : public ModuleOptions {
  double weight = 1;  // The share of the model's reward; the rest is the environment's own.
  OptimizerOptions optimizer;

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return absl::OkStatus(); }
};

inline constexpr char kRewardModel[] = "reward_model";

}  // namespace waggle
