#pragma once

#include "absl/status/status.h"
#include "common/base/backoff.h"

namespace waggle {

// True if a call with this error may succeed later, because the server is away, restarting or overloaded. False for
// NOT_FOUND: a retry alone cannot help.
bool MayPass(const absl::Status& status);

// Pauses between attempts to reach a server: 0.1 s to 2 s, with jitter.
Backoff NewReconnectBackoff();

}  // namespace waggle
