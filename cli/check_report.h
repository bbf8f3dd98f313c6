#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/experiment/experiment.h"
#include "common/rl/environment_spec.h"

namespace waggle {

// What `waggle check` says of a valid experiment beside its values, as YAML comments: parameters of the network, bytes
// of weights, and how much memory the replay tables and the batches will take at most.
absl::StatusOr<std::string> EstimateText(const Experiment& experiment, const EnvironmentSpec& environment,
                                         const AlgorithmDefinitions& algorithms);

}  // namespace waggle
