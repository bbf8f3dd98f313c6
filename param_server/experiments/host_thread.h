#pragma once

#include "absl/time/time.h"
#include "param_server/experiments/host_state.h"

// The thread of an ExperimentHost begins and closes experiments, and replies to the pool. It never waits for a disk.

namespace waggle {

// Returns once the host's Wake is stopping.
void RunHostThread(HostState* host);

// Queues the opening of experiments that can begin, and sets waits_for of the others. Any thread; returns at once.
void BeginNext(HostState* host, absl::Time now);

}  // namespace waggle
