#pragma once

#include <cstdint>
#include <string>

namespace waggle {

// The most memory that this process can have: the machine's, or the limit of a control group (version 1 or 2) that
// contains it (a container's, a service's, a job's). `root` is the system's files, for tests.
int64_t MachineMemoryBytes(const std::string& root = "");

}  // namespace waggle
