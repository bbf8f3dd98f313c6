#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// Runs a program until it ends, and returns its exit status as a shell does. Its output goes to the file `log`, or to
// this process's if that is empty. After a stop the program is asked to end, and is waited for. `command` is its path
// and its arguments. The error of the system if it cannot be started.
absl::StatusOr<int> RunProgram(const std::vector<std::string>& command, const StopToken& stop,
                               const std::string& log = "");

}  // namespace waggle
