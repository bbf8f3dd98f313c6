#pragma once

#include "absl/time/time.h"

namespace waggle {

// When a learner writes its next checkpoint. The first comes soon, as a learner that dies without one begins anew;
// each next one when it has learned twice as long, up to the period from one to the next: at most half of what was
// learned is lost. One that fails is tried again with a growing pause. Pure; all times are of one clock that never goes
// back.
class CheckpointSchedule {
 public:
  // `period`: the longest from one checkpoint to the next; zero: none is ever due.
  explicit CheckpointSchedule(absl::Duration period);

  // Learning begins. None is due before.
  void Begin(absl::Time now);

  bool IsDue(absl::Time now) const { return now >= next_; }

  // One has been begun.
  void Started(absl::Time now);
  // It was written, or has failed.
  void Ended(bool written, absl::Time now);

 private:
  const absl::Duration period_;
  absl::Duration interval_;  // From one to the next.
  absl::Duration pause_;     // Before one that has failed is tried again.
  absl::Time next_ = absl::InfiniteFuture();
};

}  // namespace waggle
