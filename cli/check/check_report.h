#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "actor/environment_trial.h"
#include "common/experiment/experiment.h"
#include "common/experiment/memory_estimate.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// What `waggle check` says of a valid experiment beside its values, as YAML comments: parameters of the network, bytes
// of weights, and how much memory the replay tables and the batches will take at most.
absl::StatusOr<std::string> EstimateText(const Experiment& experiment, const EnvironmentSpec& environment,
                                         const AlgorithmDefinitions& algorithms);

// The same: how fast an environment that is not built in was when it was tried.
std::string TrialText(const EnvironmentTrial& trial);

// And then: what each process takes of the memory of this machine, which has so much.
std::string MemoryText(const std::vector<ProcessMemory>& processes, int64_t machine_bytes);

}  // namespace waggle
