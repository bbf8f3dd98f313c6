#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/experiments/experiment_client.h"

namespace waggle {

// Lets the only experiment of a hub go on, with later limits ({"stop.max_env_steps", "100000"}) if there are any, and
// returns its id. One that was interrupted goes on by itself. FAILED_PRECONDITION if the hub has not exactly one
// experiment; other errors are the hub's.
absl::StatusOr<std::string> ResumeAtHub(const ExperimentClient& client,
                                        const std::vector<std::pair<std::string, std::string>>& limits);

}  // namespace waggle
