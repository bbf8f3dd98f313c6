#pragma once

#include "absl/time/time.h"
#include "param_server/experiments/host_state.h"

namespace waggle {

// Compares the members of each population that are due, and queues the exchanges of weights and numbers that follow.
// Returns at once. Called by the host's thread.
void FollowPopulations(HostState* host, absl::Time now);

}  // namespace waggle
