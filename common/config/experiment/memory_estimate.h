#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/config/experiment/experiment.h"
#include "common/hub/ports/hub.h"

// Estimates the memory of an experiment's processes from its sizes alone, before anything is built. Each part is
// counted at its largest in the course of a run. Not counted are the environments' own memory, an allocator's waste,
// and the executables and libraries, which all processes share and which can be read again from the disk.

namespace waggle {

// A named use of memory.
struct MemoryPart {
  std::string name;
  double bytes = 0;
};

// The memory of one kind of process.
struct ProcessMemory {
  Role role = Role::kActor;
  int64_t processes = 1;  // The number that the experiment asks for.
  std::vector<MemoryPart> parts;
  std::string device;       // The accelerator that it computes on; empty: none.
  double device_bytes = 0;  // In the accelerator's own memory.

  // The sum of one process.
  double Bytes() const;
};

// Estimates every kind of process, in the order in which `waggle run` starts them. The experiment fits the environment
// (CheckAgainstEnvironment).
absl::StatusOr<std::vector<ProcessMemory>> EstimateMemory(const Experiment& experiment,
                                                          const EnvironmentSpec& environment,
                                                          const AlgorithmDefinitions& algorithms);

// The memory of a table's rows and items once it is full, on all its servers together.
double EstimateTableBytes(const TablePlan& plan);

// RESOURCE_EXHAUSTED if these processes together take more than `machine_bytes`. The message names each one's memory
// and the parts of the largest.
absl::Status CheckMemory(const std::vector<ProcessMemory>& processes, int64_t machine_bytes);

// The same for one process of this role alone; the process calls it before it makes anything large.
absl::Status CheckOwnMemory(Role role, const Experiment& experiment, const EnvironmentSpec& environment,
                            const AlgorithmDefinitions& algorithms, int64_t machine_bytes);

}  // namespace waggle
