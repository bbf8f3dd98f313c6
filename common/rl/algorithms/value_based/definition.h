#pragma once

#include <cstdint>
#include <optional>

#include "common/config/experiment/algorithm_definition.h"
#include "common/config/plan/exploration_options.h"
#include "common/config/plan/optimizer_options.h"

namespace waggle {

// How a target network follows. Giving both is an error.
struct TargetOptions {
  // The share of the online network that the target takes over after each learner step; 0.01 if neither is given.
  std::optional<double> target_update_rate;
  int64_t update_steps = 0;  // Learner steps between copies.

  // target_update_rate, or its default if neither is given; 0 if the target is copied.
  double EffectiveTargetUpdateRate() const;
  void VisitTarget(ConfigVisitor& visitor, bool has_target = true);
  absl::Status ValidateTarget(bool has_target = true) const;
};

// The options of algorithms that learn the values of choices from replayed n-step transitions.
struct ValueBasedOptions : public AlgorithmOptions, public TargetOptions {
  int64_t n_step = 3;      // Rewards summed before a value takes over; fewer at an episode's end.
  double discount = 0.99;  // Per step.
  ExplorationOptions exploration{"epsilon_greedy", 0, 0.4, 7};
  OptimizerOptions optimizer;

  ValueBasedOptions();

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return ValidateTarget(); }

 protected:
  // n_step, and then all other options. Algorithms of one step visit only the latter.
  void VisitSteps(ConfigVisitor& visitor);
  void VisitLearning(ConfigVisitor& visitor, bool has_target = true);
};

// One network "q" with this head, which acts and has a target, and a table of transitions. If it picks by priority,
// each begins with the TD error of the acting weights.
AlgorithmPlan ValueBasedPlan(const ValueBasedOptions& options, const PlanContext& context, const HeadNeed& head);

// Fresh data, prioritised, learned from 16 times, in batches of 64.
void ValueBasedDefaults(Experiment* experiment);

}  // namespace waggle
