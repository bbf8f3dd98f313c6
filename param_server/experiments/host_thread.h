#pragma once

#include "absl/time/time.h"
#include "param_server/experiments/host_state.h"

// The thread of an ExperimentHost: decides which experiments begin and which are closed, and answers the pool. It never
// waits for a disk.

namespace waggle {

// Runs until the host's Wake is stopping.
void RunHostThread(HostState* host);

// Says what each experiment in the queue waits for, and has those opened that can begin. Any thread; returns at once.
void BeginNext(HostState* host, absl::Time now);

}  // namespace waggle
