#pragma once

#include <algorithm>
#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/deadline.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// Calls `flush`, for at most a second each time, until it returns anything but DEADLINE_EXCEEDED or `timeout` is over.
// CANCELLED within a second of a stop.
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
