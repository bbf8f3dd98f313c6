#pragma once

#include <string>

#include "absl/status/status.h"
#include "param_server/experiments/host_state.h"

// The tasks of an ExperimentHost's executor, which wait for the disk. Each experiment has at most one at a time.

namespace waggle {

// Reads the saved experiments. Those that ran are opened later.
absl::Status LoadExperiments(HostState* host);

// Opens the run of a queued experiment, or of one that ran with an earlier hub. An error means that a record was not
// saved. An experiment that fails or must be tried again is not an error.
absl::Status BeginRun(HostState* host, const std::string& id);

// Saves the results of a run that is over, and closes it. Must be called again after an error.
absl::Status CloseRun(HostState* host, const std::string& id);

// Saves events, and the replay storage of the running experiments.
void SaveNews(HostState* host);

}  // namespace waggle
