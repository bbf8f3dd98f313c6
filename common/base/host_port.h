#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace waggle {

// INVALID_ARGUMENT, saying what was wanted, unless `address` is HOST:PORT with a host and a port of 1 to 65535 (or 0,
// where `allow_port_zero`). HOST may be a name, an IPv4 address or a bracketed IPv6 address; it is not looked up.
absl::Status ValidateHostPort(absl::string_view address, bool allow_port_zero = false);

// INVALID_ARGUMENT, saying what was wanted, unless others can connect to `address`: as ValidateHostPort, and HOST is
// not 0.0.0.0 or [::], which stand for all addresses of a machine and can only be listened on.
absl::Status ValidateReachable(absl::string_view address);

}  // namespace waggle
