#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "replay_server/diagnose/inspect.h"
#include "waggle/v1/replay.pb.h"

namespace waggle {

// INVALID_ARGUMENT for an order that is none.
absl::StatusOr<InspectRequest> FromProto(const v1::InspectRequest& proto);

// `with_statistics` where they were asked for.
v1::InspectResponse ToProto(const Inspection& inspection, bool with_statistics);
v1::InspectedColumn ToProto(InspectedColumn column);

}  // namespace waggle
