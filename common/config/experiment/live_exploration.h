#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/config/experiment/experiment.h"
#include "common/config/plan/exploration_options.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// The exploration of an experiment whose numbers are set while it runs (live_settings.h). Not thread-safe.
class LiveExploration {
 public:
  // `experiment` has no settings, or some that Take's include.
  LiveExploration(Experiment experiment, EnvironmentSpec environment, AlgorithmDefinitions algorithms)
      : experiment_(std::move(experiment)), environment_(std::move(environment)), algorithms_(std::move(algorithms)) {}

  // The options with these settings, if they are others than the last ones; at first there are none.
  absl::StatusOr<std::optional<ExplorationOptions>> Take(const std::string& settings);

 private:
  const Experiment experiment_;
  const EnvironmentSpec environment_;
  const AlgorithmDefinitions algorithms_;
  std::string settings_;
};

}  // namespace waggle
