#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/config/experiment/experiment.h"
#include "common/config/experiment/live_settings.h"
#include "common/config/experiment/settings_text.h"

namespace waggle {

// Changes the limits of a run that has ended, so that it can go on. `wanted` has keys of the section `stop`:
// {"stop.max_env_steps", "100000"}. A target_return of null takes the target away. Limits that are not wanted stay.
// INVALID_ARGUMENT, one problem a line, each behind its key, for another key, a wrong value, and limits that end
// nothing; FAILED_PRECONDITION for a deterministic experiment, which follows from its file alone.
absl::StatusOr<ChangedSettings> ChangeLimits(const std::string& yaml, const std::string& settings,
                                             const SettingValues& wanted, const AlgorithmDefinitions& algorithms);

// How far a run has come.
struct RunReach {
  int64_t env_steps = 0;
  int64_t learner_steps = 0;
  absl::Duration running;
  std::optional<double> confirmed_return;  // The mean return of a solved run's result.
};

// FAILED_PRECONDITION, naming the first limit that the run has reached and the flag of `waggle resume` that sets it, if
// the run would end again at once. A target is reached if the run was solved with a return of at least that.
absl::Status CheckGoesOn(const StopOptions& stop, const RunReach& reach);

}  // namespace waggle
