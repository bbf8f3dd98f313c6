#include "common/config/experiment/live_exploration.h"

#include "common/base/status_macros.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/config/experiment/live_settings.h"

namespace waggle {

absl::StatusOr<std::optional<ExplorationOptions>> LiveExploration::Take(const std::string& settings) {
  if (settings == settings_) {
    return std::optional<ExplorationOptions>();
  }
  WAGGLE_ASSIGN_OR_RETURN(const Experiment experiment, WithSettings(experiment_, settings, algorithms_));
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentPlan plan, PlanExperiment(experiment, environment_, algorithms_));
  settings_ = settings;
  return std::make_optional(plan.algorithm.exploration);
}

}  // namespace waggle
