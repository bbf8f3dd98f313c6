#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/base/stop_token.h"

namespace waggle {

struct GradientProcessOptions {
  std::string listen;
  std::string hub_address;
  std::string advertise;         // Empty: see ReachableAddress.
  std::optional<int64_t> index;  // That it would rather have, as a reducer.
};

// A gradient worker, until `stop`: the primary of one experiment after the other, or one of its reducers, as the hub
// says (see RunPrimary and RunReducer). Serves where it listens also while it has nothing to do, then its health alone;
// where that is port 0 each order has a port of its own.
absl::Status ServeGradients(const GradientProcessOptions& options, const StopToken& stop);

}  // namespace waggle
