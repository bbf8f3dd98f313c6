#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// The address, without a port, by which the network of `host_port` (HOST:PORT) reaches this machine. Sends nothing.
// UNAVAILABLE if the host is unknown, or no route leads there.
absl::StatusOr<std::string> LocalAddressTowards(const std::string& host_port);

// HOST:PORT by which others reach this process's server: `advertised`, or `listening` if that is empty. If `listening`
// is all addresses of the machine, uses the one towards `peer`, and waits while no route leads there. INVALID_ARGUMENT
// if `advertised` cannot be connected to; CANCELLED after a stop.
absl::StatusOr<std::string> ReachableAddress(const std::string& listening, const std::string& advertised,
                                             const std::string& peer, const StopToken& stop);

}  // namespace waggle
