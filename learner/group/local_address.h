#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace waggle {

// The address of this machine from which it reaches `host_port` (HOST:PORT), without a port: by it others of that
// network reach this machine. Nothing is sent. UNAVAILABLE where the host is not known, or no way leads there.
absl::StatusOr<std::string> LocalAddressTowards(const std::string& host_port);

}  // namespace waggle
