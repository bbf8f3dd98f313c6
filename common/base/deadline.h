#pragma once

#include <algorithm>
#include <chrono>

#include "absl/time/time.h"

namespace waggle {

// The moment `timeout` from now, on the monotonic clock: a wall clock that is set back or forth moves no deadline.
class Deadline {
 public:
  explicit Deadline(absl::Duration timeout) : end_(SinceBoot() + timeout) {}

  // Zero once it has passed; infinite for an infinite timeout.
  absl::Duration Left() const { return std::max(end_ - SinceBoot(), absl::ZeroDuration()); }

 private:
  static absl::Duration SinceBoot() { return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch()); }

  const absl::Duration end_;
};

}  // namespace waggle
