#pragma once

#include <cstdint>

#include "param_server/experiments/host_state.h"

namespace waggle {

// See ExperimentHost::Attend.
uint64_t TakeAttendCall(HostState* host, const v1::AttendRequest& attendance, AttendReply reply);
// See ExperimentHost::BreakOff.
void BreakOffCall(HostState* host, uint64_t number);

// Lets the pool find dead processes and give seats, reports its events to the hubs of the runs, and replies to calls
// for which there is news or that have waited long enough. For the host's thread.
void TickPool(HostState* host);

}  // namespace waggle
