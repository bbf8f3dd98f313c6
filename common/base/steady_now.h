#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace waggle {

// Time on the monotonic clock, which only compares with other times of the same machine.
inline absl::Duration SteadyElapsed() {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

// The same in nanoseconds, a few milliseconds late, at a tenth of the cost: for frequent notes that people read.
inline int64_t CoarseSteadyNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The wall clock's time at the first call, advanced by the monotonic clock: it never jumps. Not for dates.
inline absl::Time SteadyNow() {
  static const absl::Time origin = absl::Now() - SteadyElapsed();
  return origin + SteadyElapsed();
}

}  // namespace waggle
