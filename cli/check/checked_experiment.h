#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "actor/environments/environment_trial.h"
#include "common/config/experiment/experiment.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// An experiment that has passed all checks that need no process.
struct CheckedExperiment {
  Experiment experiment;
  std::string text;  // The file's text, as the user wrote it.
  // Absent if the environment is not built in and was not opened.
  std::optional<EnvironmentSpec> environment;
  // Present if an environment that is not built in was opened and stepped.
  std::optional<EnvironmentTrial> trial;
};

// The choice to open an environment that is not built in. A machine that submits an experiment may lack the
// environment's packages: only the actors need them.
enum class ForeignEnvironments { kOpened, kNotOpened };

// Loads `file` with `overrides` in place of its values, and checks it against the built-in environments and algorithms.
// The error lists all problems, one a line.
absl::StatusOr<CheckedExperiment> LoadCheckedExperiment(
    const std::string& file, const std::vector<std::pair<std::string, std::string>>& overrides,
    ForeignEnvironments foreign = ForeignEnvironments::kOpened);

}  // namespace waggle
