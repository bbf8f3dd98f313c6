#pragma once

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "common/base/random.h"

namespace waggle {

// The pause before another attempt: doubles from `initial` to `maximum`. Each pause is drawn uniformly from the upper
// half, so that clients do not retry all at once. Not thread-safe.
class Backoff {
 public:
  Backoff(absl::Duration initial, absl::Duration maximum, Rng rng)
      : initial_(initial), maximum_(maximum), next_(initial), rng_(std::move(rng)) {}

  absl::Duration Next() {
    const absl::Duration pause = next_ * rng_.Uniform(0.5, 1.0);
    next_ = std::min(next_ * 2, maximum_);
    return pause;
  }

  // Must be called after a success.
  void Reset() { next_ = initial_; }

 private:
  const absl::Duration initial_;
  const absl::Duration maximum_;
  absl::Duration next_;
  Rng rng_;
};

}  // namespace waggle
