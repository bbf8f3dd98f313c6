#pragma once

#include <cstdint>
#include <string>

namespace waggle {

// The most memory that this process can have: the machine's, or the limit of a control group (version 1 or 2) that
// contains it (a container's, a service's, a job's). `root` is the system's files, for tests.
int64_t MachineMemoryBytes(const std::string& root = "");

// The memory that this process has at present, without what was swapped out; 0 if the system does not say.
int64_t ResidentBytes();

}  // namespace waggle
