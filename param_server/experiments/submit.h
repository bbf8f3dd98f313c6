#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "param_server/experiments/experiment_view.h"
#include "param_server/experiments/host_state.h"

namespace waggle {

// Saves a submitted experiment, or all members of its group or population, as queued. Returns the ids in the members'
// order; those of the earlier call if the request is repeated. Waits for the disk. Errors as ExperimentService.
absl::StatusOr<std::vector<std::string>> SaveSubmission(HostState* host, const Submission& submission);

}  // namespace waggle
