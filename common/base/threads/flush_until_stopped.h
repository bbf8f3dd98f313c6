#pragma once

#include <algorithm>
#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/deadline.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// Waits up to `timeout` until all data has arrived, by calling `flush` with short timeouts while it is
// DEADLINE_EXCEEDED. CANCELLED within a second of a stop.
inline absl::Status FlushUntilStopped(const std::function<absl::Status(absl::Duration timeout)>& flush,
                                      const StopToken& stop, absl::Duration timeout = absl::InfiniteDuration()) {
  const Deadline deadline(timeout);
  absl::Status status;
  do {
    status = stop.StopRequested() ? absl::CancelledError("stopped before all data had arrived")
                                  : flush(std::min(absl::Seconds(1), deadline.Left()));
  } while (absl::IsDeadlineExceeded(status) && deadline.Left() > absl::ZeroDuration());
  return status;
}

}  // namespace waggle
