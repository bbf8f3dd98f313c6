#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/base/stop_token.h"

namespace waggle {

// The address of this machine from which it reaches `host_port` (HOST:PORT), without a port: by it others of that
// network reach this machine. Nothing is sent. UNAVAILABLE where the host is not known, or no way leads there.
absl::StatusOr<std::string> LocalAddressTowards(const std::string& host_port);

// HOST:PORT by which others reach a server of this process that listens at `listening`: `advertised` where that is not
// empty; else `listening`, but where it stands for all addresses of this machine the one towards `peer`, which is
// waited for while no way leads there. INVALID_ARGUMENT where `advertised` cannot be connected to; CANCELLED after a
// stop.
absl::StatusOr<std::string> ReachableAddress(const std::string& listening, const std::string& advertised,
                                             const std::string& peer, const StopToken& stop);

}  // namespace waggle
