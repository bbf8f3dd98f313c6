#pragma once

#include <chrono>

#include "absl/time/time.h"

namespace waggle {

// Time since its construction, on the monotonic clock, which changes of the wall clock do not affect. Thread-safe.
class Stopwatch {
 public:
  absl::Duration Elapsed() const { return absl::FromChrono(std::chrono::steady_clock::now() - start_); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace waggle
