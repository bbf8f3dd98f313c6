#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// Runs a program with this process's output until it ends, and returns its exit status as a shell does. After a stop it
// is asked to end, and then waited for. `command` is its path and its arguments. The error of the system if it cannot
// be started.
absl::StatusOr<int> RunProgram(const std::vector<std::string>& command, const StopToken& stop);

}  // namespace waggle
