#pragma once

#include "absl/status/status.h"
#include "common/base/backoff.h"

namespace waggle {

// Whether a call that failed so may succeed later: the server is away, restarting or overloaded. NOT_FOUND is not among
// these: what is missing has to be made first.
bool MayPass(const absl::Status& status);

// The pauses between attempts to reach a server: 0.1 s to 2 s. Those of two clients differ.
Backoff NewReconnectBackoff();

}  // namespace waggle
