#pragma once

#include <optional>

#include "absl/time/time.h"
#include "common/base/stopwatch.h"

namespace waggle {

// How long somebody has waited, with the wait under way: whoever asks while it lasts is told the truth. Not
// thread-safe: guarded by what its owner guards the rest with.
class WaitClock {
 public:
  // Each Begin is followed by an End.
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
