#pragma once

#include <string>

#include "common/hub/hub_client.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// Unique among all workers ever; process numbers are used again.
std::string NewWorkerId(const std::string& kind);

std::string HostName();

// Sets a heartbeat's metrics to their present values.
void FillFigures(const HubClientOptions& options, v1::HeartbeatRequest* request);

}  // namespace waggle
