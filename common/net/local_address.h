#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// The address, without a port, from which this machine reaches `host_port` (HOST:PORT). Others of that network reach
// this machine by it. Nothing is sent. UNAVAILABLE if the host is not known, or no way leads there.
absl::StatusOr<std::string> LocalAddressTowards(const std::string& host_port);

// HOST:PORT by which others reach a server of this process that listens at `listening`: `advertised` unless that is
// empty; otherwise `listening`. If `listening` stands for all addresses of this machine, the one towards `peer` is
// taken; waits while no way leads there. INVALID_ARGUMENT if `advertised` cannot be connected to; CANCELLED after a
// stop.
absl::StatusOr<std::string> ReachableAddress(const std::string& listening, const std::string& advertised,
                                             const std::string& peer, const StopToken& stop);

}  // namespace waggle
