#pragma once

#include "param_server/run/hub.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// Fills an empty response, without the experiment's id.
void ToProto(const HubOverview& overview, v1::OverviewResponse* response);
// The overview that is saved of a closed run: no worker is alive or has rates. Without the experiment's text.
v1::OverviewResponse ToPastProto(HubOverview overview);

}  // namespace waggle
