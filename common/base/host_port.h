#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace waggle {

// INVALID_ARGUMENT, saying what was wanted, unless `address` is HOST:PORT with a port of 1 to 65535, or 0 if allowed.
// HOST is a name, an IPv4 address or a bracketed IPv6 address; it is not looked up.
absl::Status ValidateHostPort(absl::string_view address, bool allow_port_zero = false);

// INVALID_ARGUMENT, saying what was wanted, unless others can connect to `address`: a valid address whose HOST is not
// 0.0.0.0 or [::], which are only for listening.
absl::Status ValidateReachable(absl::string_view address);

}  // namespace waggle
