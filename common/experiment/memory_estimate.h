#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/api/hub.h"
#include "common/experiment/experiment.h"

// How much memory an experiment makes its processes take, estimated from its sizes alone, before anything is built.
// Each part is counted as large as it gets in the course of a run. Not counted are the environments' own, what an
// allocator wastes, and the executables and libraries, which all processes share and which can be read again from the
// disk.

namespace waggle {

// Something that takes memory.
struct MemoryPart {
  std::string name;
  double bytes = 0;
};

// What a process of one kind takes.
struct ProcessMemory {
  Role role = Role::kActor;
  int64_t processes = 1;  // That the experiment asks for.
  std::vector<MemoryPart> parts;
  std::string device;       // The accelerator that it computes on; empty: none.
  double device_bytes = 0;  // In the accelerator's own memory.

  // Of one process.
  double Bytes() const;
};

// Of every kind of process, in the order in which `waggle run` starts them. The experiment fits the environment
// (CheckAgainstEnvironment).
absl::StatusOr<std::vector<ProcessMemory>> EstimateMemory(const Experiment& experiment,
                                                          const EnvironmentSpec& environment,
                                                          const AlgorithmDefinitions& algorithms);

// What a table's rows and items take in memory once it is full, on all its servers together.
double EstimateTableBytes(const TablePlan& plan);

// RESOURCE_EXHAUSTED where all of these processes together take more than `machine_bytes`. The message says how much
// each takes, and what the largest of them takes it for.
absl::Status CheckMemory(const std::vector<ProcessMemory>& processes, int64_t machine_bytes);

// The same of one process of this role alone: for that process itself, before it makes anything large.
absl::Status CheckOwnMemory(Role role, const Experiment& experiment, const EnvironmentSpec& environment,
                            const AlgorithmDefinitions& algorithms, int64_t machine_bytes);

}  // namespace waggle
