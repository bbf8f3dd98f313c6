#pragma once

#include "absl/time/time.h"

namespace waggle {

// Decides when a learner writes its next checkpoint. The first comes soon, as a learner that dies without one begins
// anew. Each next one comes when the learner has learned twice as long, but no later than the period: at most half of
// its learning is lost. A failed one is tried again with a growing pause. Pure; all times are of one clock that never
// goes back.
class CheckpointSchedule {
 public:
  // `period`: the longest time between checkpoints; zero: none is ever due.
  explicit CheckpointSchedule(absl::Duration period);

  // Learning begins. None is due before.
  void Begin(absl::Time now);

  bool IsDue(absl::Time now) const { return now >= next_; }

  // A checkpoint has been begun.
  void Started(absl::Time now);
  // The checkpoint was written, or has failed.
  void Ended(bool written, absl::Time now);

 private:
  const absl::Duration period_;
  absl::Duration interval_;  // Between checkpoints.
  absl::Duration pause_;     // Before a failed checkpoint is tried again.
  absl::Time next_ = absl::InfiniteFuture();
};

}  // namespace waggle
