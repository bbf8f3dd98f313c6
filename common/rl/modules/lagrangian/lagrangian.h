#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/config/experiment/module_definition.h"
#include "common/config/plan/optimizer_options.h"

namespace waggle {

// A bound of one dimension of a vector reward.
struct RewardBound {
  int64_t dimension = 0;
  double least = 0;   // The least mean reward of a step.
  double weight = 1;  // The weight at the start.

  // The learned number from which the weight follows; metrics have this name too.
  std::string Name() const { return absl::StrCat("lagrangian_weight_", dimension); }

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// Weights of a vector reward's dimensions that hold bounds on their means: the multipliers of a constrained decision
// process's Lagrangian (Altman 1999), which descend sum_i weight_i (mean_i - least_i). A weight grows while its bound
// does not hold, and falls while it does.
struct LagrangianOptions : public ModuleOptions {
  std::vector<RewardBound> bounds;
  // The steps whose mean counts: actors, those of the actors, with their exploration; evaluations, those of the newest
  // evaluation, which are greedy.
  std::string rewards = "actors";
  std::string form = "softplus";  // A weight of the learned number x: softplus, log(1 + e^x), or exp, e^x.
  double largest_weight = 1000;   // The most that a bounded dimension's weight grows to.
  bool normalize = true;          // All weights together are divided by the sum of their sizes.
  // rewards: actors. The newest steps of all actors whose mean counts, if items are replayed. Otherwise the batch's
  // steps count.
  int64_t window = 2000;
  OptimizerOptions optimizer;

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override;
};

// The table of the newest steps' rewards.
inline constexpr char kNewestRewards[] = "newest_rewards";

// The least weight of a bounded dimension: the weight of a bound that held for long must be able to grow again soon.
inline constexpr double kLeastWeight = 1e-3;

}  // namespace waggle
