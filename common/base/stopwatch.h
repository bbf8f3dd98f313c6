#pragma once

#include <chrono>

#include "absl/time/time.h"

namespace waggle {

// How long ago it was made, on the monotonic clock: a wall clock that is set back or forth changes no duration.
// Thread-safe.
class Stopwatch {
 public:
  absl::Duration Elapsed() const { return absl::FromChrono(std::chrono::steady_clock::now() - start_); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace waggle
