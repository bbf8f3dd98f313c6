#pragma once

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "common/base/random.h"

namespace waggle {

// How long to pause before trying something again: doubles from `initial` to `maximum`, and each pause is drawn
// uniformly from the upper half of that, so that a crowd of clients does not come back at one moment. Not thread-safe.
class Backoff {
 public:
  Backoff(absl::Duration initial, absl::Duration maximum, Rng rng)
      : initial_(initial), maximum_(maximum), next_(initial), rng_(std::move(rng)) {}

  absl::Duration Next() {
    const absl::Duration pause = next_ * rng_.Uniform(0.5, 1.0);
    next_ = std::min(next_ * 2, maximum_);
    return pause;
  }

  // To be called after a success.
  void Reset() { next_ = initial_; }

 private:
  const absl::Duration initial_;
  const absl::Duration maximum_;
  absl::Duration next_;
  Rng rng_;
};

}  // namespace waggle
