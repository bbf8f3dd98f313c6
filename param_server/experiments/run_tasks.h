#pragma once

#include <string>

#include "absl/status/status.h"
#include "param_server/experiments/host_state.h"

// The tasks of an ExperimentHost's executor: they wait for the disk. At most one of them is under way for an
// experiment.

namespace waggle {

// Reads the saved experiments. Those that ran are opened later.
absl::Status LoadExperiments(HostState* host);

// Opens the run of an experiment in the queue, or of one that ran with an earlier hub. An error says what could not be
// saved. That the experiment has failed, or must be tried again, is not an error.
absl::Status BeginRun(HostState* host, const std::string& id);

// Saves the results of a run that is over, and closes it. After an error it must be tried again.
absl::Status CloseRun(HostState* host, const std::string& id);

// Saves events, and which replay servers hold the data of which experiment.
void SaveNews(HostState* host);

}  // namespace waggle
