#pragma once

#include "param_server/run/hub.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// Into an empty one, without the experiment's id, which a hub does not know.
void ToProto(const HubOverview& overview, v1::OverviewResponse* response);
// As it is kept of a run that is closed: all its workers are gone, so there are no rates and no figures of theirs.
// Without the experiment, which is kept beside it.
v1::OverviewResponse ToPastProto(HubOverview overview);

}  // namespace waggle
