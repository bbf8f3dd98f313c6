#pragma once

#include <optional>

#include "absl/time/time.h"
#include "common/base/stopwatch.h"

namespace waggle {

// The total time of waits, including the present one. Not thread-safe: uses its owner's lock.
class WaitClock {
 public:
  // Begin must be followed by End.
  void Begin() { began_.emplace(); }
  void End() {
    total_ = total();
    began_.reset();
  }

  bool waiting() const { return began_.has_value(); }
  absl::Duration total() const { return total_ + (began_.has_value() ? began_->Elapsed() : absl::ZeroDuration()); }

 private:
  absl::Duration total_;
  std::optional<Stopwatch> began_;
};

}  // namespace waggle
