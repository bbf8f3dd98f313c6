#pragma once

#include "param_server/workers/hub.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// Without the experiment's id, which a hub does not know.
v1::OverviewResponse ToProto(const HubOverview& overview);

}  // namespace waggle
