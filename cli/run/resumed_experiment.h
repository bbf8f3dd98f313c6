#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/check/checked_experiment.h"

namespace waggle {

// The experiment of a run that goes on.
struct ResumedExperiment {
  CheckedExperiment checked;
  // The limits that differ from the run's own: {"stop.max_env_steps", "100000"}.
  std::vector<std::pair<std::string, std::string>> limits;
};

// Loads the experiment of the run in folder `run`, with `overrides` in place of its values; or `file` with them, if it
// is not empty. INVALID_ARGUMENT, naming the key, if it is another experiment than the run's: only keys of the section
// `stop` may differ. FAILED_PRECONDITION if the run has reached its end and no limit differs. Errors of
// LoadCheckedExperiment otherwise.
absl::StatusOr<ResumedExperiment> LoadResumedExperiment(
    const std::string& run, const std::string& file, const std::vector<std::pair<std::string, std::string>>& overrides);

}  // namespace waggle
