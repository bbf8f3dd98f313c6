#pragma once

#include "absl/time/time.h"

namespace waggle {

// Decides when a learner writes checkpoints. The first is early, because a learner without one restarts from nothing.
// Each next one is due when the learner has learned twice as long, but after at most the period, so that at most half
// is lost. Failed ones are retried with a growing pause. Pure; times are of one clock that never goes back.
class CheckpointSchedule {
 public:
  // `period` is the longest time between checkpoints; zero for none.
  explicit CheckpointSchedule(absl::Duration period);

  // Starts the schedule.
  void Begin(absl::Time now);

  bool IsDue(absl::Time now) const { return now >= next_; }

  // A checkpoint has been started.
  void Started(absl::Time now);
  // The checkpoint was written or has failed.
  void Ended(bool written, absl::Time now);

 private:
  const absl::Duration period_;
  absl::Duration interval_;  // Between checkpoints.
  absl::Duration pause_;     // Before a retry.
  absl::Time next_ = absl::InfiniteFuture();
};

}  // namespace waggle
