#pragma once

#include "absl/status/status.h"
#include "common/base/backoff.h"

namespace waggle {

// True if a call with this error may succeed later: the server is away, restarting or overloaded. False for NOT_FOUND:
// the missing thing must be made first.
bool MayPass(const absl::Status& status);

// The pauses between attempts to reach a server: 0.1 s to 2 s. The pauses of two clients differ.
Backoff NewReconnectBackoff();

}  // namespace waggle
