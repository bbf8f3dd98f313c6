#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/config/experiment/settings_text.h"
#include "param_server/experiments/host_state.h"

namespace waggle {

// Puts an experiment that has ended, and whose run is closed, back into the queue, with `limits` in place of its own.
// It continues from `cut`, or if that is 0 from its saved state. Waits for the disk. Errors as
// ExperimentService::Resume.
absl::Status ResumeClosed(HostState* host, const std::string& id, const SettingValues& limits, uint64_t cut);

// Changes the priority of an experiment that has not ended. Waits for the disk. Errors as
// ExperimentService::SetPriority.
absl::Status ChangePriority(HostState* host, const std::string& id, int64_t priority);

// INVALID_ARGUMENT for a priority out of range.
absl::Status CheckPriority(int64_t priority);

}  // namespace waggle
