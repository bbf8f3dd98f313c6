#pragma once

#include <cstdint>
#include <string>

namespace waggle {

// The memory that this process may have at most: the machine's, or less where its control group, or one that this is
// in, has a limit (a container's, a service's, a job's). Of version 2 or of version 1. `root` is where the system's
// files lie, for tests.
int64_t MachineMemoryBytes(const std::string& root = "");

}  // namespace waggle
