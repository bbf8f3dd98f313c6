#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "actor/environments/environment_trial.h"
#include "common/config/experiment/experiment.h"
#include "common/config/experiment/memory_estimate.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// Facts of a valid experiment beside its values, for `waggle check`, as YAML comments: parameters of the network, bytes
// of weights, and the most memory that the replay tables and the batches take.
absl::StatusOr<std::string> EstimateText(const Experiment& experiment, const EnvironmentSpec& environment,
                                         const AlgorithmDefinitions& algorithms);

// The speed of an environment that is not built in, as its trial measured it.
std::string TrialText(const EnvironmentTrial& trial);

// The memory that each process takes of this machine's `machine_bytes`.
std::string MemoryText(const std::vector<ProcessMemory>& processes, int64_t machine_bytes);

}  // namespace waggle
