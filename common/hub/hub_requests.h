#pragma once

#include <string>

#include "common/hub/hub_client.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// Unique among all workers that ever were: a process's number alone comes again.
std::string NewWorkerId(const std::string& kind);

std::string HostName();

// Fills in a heartbeat's part of the metrics, with their values of this moment.
void FillFigures(const HubClientOptions& options, v1::HeartbeatRequest* request);

}  // namespace waggle
