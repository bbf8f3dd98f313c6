#pragma once

#include "param_server/run/hub.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// Fills an empty response, without the experiment's id.
void ToProto(const HubOverview& overview, v1::OverviewResponse* response);
// The overview that is saved of a closed run: no worker is alive or has rates, and the experiment's text is left out,
// as it is saved beside it.
v1::OverviewResponse ToPastProto(HubOverview overview);

}  // namespace waggle
