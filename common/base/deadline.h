#pragma once

#include <algorithm>

#include "absl/time/time.h"
#include "common/base/stopwatch.h"

namespace waggle {

// The moment `timeout` from now, on the monotonic clock, which changes of the wall clock do not affect.
class Deadline {
 public:
  explicit Deadline(absl::Duration timeout) : timeout_(timeout) {}

  // Zero once it has passed; infinite for an infinite timeout.
  absl::Duration Left() const { return std::max(timeout_ - since_.Elapsed(), absl::ZeroDuration()); }

 private:
  const absl::Duration timeout_;
  const Stopwatch since_;
};

}  // namespace waggle
