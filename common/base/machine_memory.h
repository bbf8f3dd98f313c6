#pragma once

#include <cstdint>
#include <string>

namespace waggle {

// The memory that this process may have at most: the machine's, or less where its control group (a container's) has a
// limit. `root` is where the system's files lie, for tests.
int64_t MachineMemoryBytes(const std::string& root = "");

}  // namespace waggle
