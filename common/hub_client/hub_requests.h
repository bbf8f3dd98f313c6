#pragma once

#include <string>

#include "common/hub_client/hub_client.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// Unique among all workers that ever were: the process's number alone comes again.
std::string NewWorkerId(Role role);

// What a process tells the hub about itself when it joins for the first time.
v1::JoinRequest NewJoinRequest(const HubClientOptions& options, const std::string& worker_id);

// A heartbeat with the metrics' values of this moment, without reports.
v1::HeartbeatRequest NewHeartbeat(const HubClientOptions& options, const std::string& worker_id);

}  // namespace waggle
