#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/time/time.h"

namespace waggle {

// Limits of the restarts of an environment's process or stream.
struct RestartOptions {
  absl::Duration first_retry = absl::Milliseconds(500);  // Pause before a restart; doubles with each failure in a row.
  absl::Duration max_retry = absl::Seconds(30);
  int64_t max_failures = 10;  // Failures in a row that end the run.
};

// The failures of one process or stream. 100 answers after a start end a row of failures.
class Restarts {
 public:
  static constexpr int64_t kProvenAnswers = 100;

  int64_t starts() const { return starts_; }
  int64_t failures() const { return failures_; }  // In a row.

  // Returns true if it was started before.
  bool Started() {
    answers_ = 0;
    return starts_++ > 0;
  }
  void Answered() {
    if (++answers_ >= kProvenAnswers) {
      failures_ = 0;
    }
  }
  void Failed() { ++failures_; }

  bool Exhausted(const RestartOptions& options) const { return failures_ >= options.max_failures; }
  // The pause before the next start.
  absl::Duration Pause(const RestartOptions& options) const {
    return std::min(options.max_retry, options.first_retry * std::exp2(static_cast<double>(failures_ - 1)));
  }

 private:
  int64_t starts_ = 0;
  int64_t failures_ = 0;
  int64_t answers_ = 0;
};

}  // namespace waggle
