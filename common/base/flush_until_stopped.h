#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/stop_token.h"

namespace waggle {

// Waits for what is on its way to arrive, however long a server is away: calls `flush` with a timeout again and again
// while that is DEADLINE_EXCEEDED. CANCELLED after a stop.
inline absl::Status FlushUntilStopped(const std::function<absl::Status(absl::Duration timeout)>& flush,
                                      const StopToken& stop) {
  absl::Status status;
  do {
    status = stop.StopRequested() ? absl::CancelledError("stopped before all had arrived") : flush(absl::Seconds(1));
  } while (absl::IsDeadlineExceeded(status));
  return status;
}

}  // namespace waggle
