#pragma once

#include "absl/time/time.h"
#include "param_server/experiments/host_state.h"

// The thread of an ExperimentHost decides which experiments begin and which are closed, and replies to the pool. It
// never waits for a disk.

namespace waggle {

// Returns once the host's Wake is stopping.
void RunHostThread(HostState* host);

// Sets waits_for of each queued experiment, and queues the opening of those that can begin. Any thread; returns at
// once.
void BeginNext(HostState* host, absl::Time now);

}  // namespace waggle
