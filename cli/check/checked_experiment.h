#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "actor/environment_trial.h"
#include "common/experiment/experiment.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// An experiment that has passed every check that can be made before a process of it starts.
struct CheckedExperiment {
  Experiment experiment;
  std::string text;  // The file's, as the user wrote it.
  // Not known if the environment is not built in and was not opened.
  std::optional<EnvironmentSpec> environment;
  // An environment that is not built in was opened and stepped.
  std::optional<EnvironmentTrial> trial;
};

// Whether an environment that is not built in is opened. Whoever submits an experiment need not have what its
// environment needs: its actors do.
enum class ForeignEnvironments { kOpened, kNotOpened };

// Loads `file`, with `overrides` in place of its values, and checks it against the environments and algorithms that
// come with Waggle. The error lists everything that is wrong, one a line.
absl::StatusOr<CheckedExperiment> LoadCheckedExperiment(
    const std::string& file, const std::vector<std::pair<std::string, std::string>>& overrides,
    ForeignEnvironments foreign = ForeignEnvironments::kOpened);

}  // namespace waggle
