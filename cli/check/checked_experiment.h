#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/experiment/experiment.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// An experiment that has passed every check that can be made before a process starts.
struct CheckedExperiment {
  Experiment experiment;
  std::string text;  // Of its file, as the user wrote it.
  EnvironmentSpec environment;
};

// Loads `file`, with `overrides` in place of its values, and checks it against the environments and algorithms that
// come with Waggle. The error lists everything that is wrong, one a line.
absl::StatusOr<CheckedExperiment> LoadCheckedExperiment(
    const std::string& file, const std::vector<std::pair<std::string, std::string>>& overrides);

}  // namespace waggle
