#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace waggle {

// The time on the monotonic clock: meaningful only relative to others of the same machine.
inline absl::Duration SteadyElapsed() {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

// The same clock in nanoseconds, a few milliseconds late, for a tenth of the cost: for what is noted down often and
// read by people, if ever.
inline int64_t CoarseSteadyNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The wall clock's time when it is called first, and from there on as the monotonic clock has it: never goes back, and
// does not jump when the wall clock is set. For deadlines and patience; what people read as a date is absl::Now().
inline absl::Time SteadyNow() {
  static const absl::Time origin = absl::Now() - SteadyElapsed();
  return origin + SteadyElapsed();
}

}  // namespace waggle
