#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/stop_token.h"
#include "common/base/threads/wait_clock.h"
#include "common/hub/ports/hub.h"

namespace waggle {

// A worker's part in a run in lock-step (experiment.deterministic). In the hub's turns, the learner publishes first
// weights, then the actor acts, the learner learns from that, and at times figures are recorded and weights evaluated,
// each alone. One thread, but for stats().
class TurnTaker {
 public:
  // The link must outlive it. `since_cut`: the cut that the worker's state follows from. `done`: the last turn that it
  // had before that.
  TurnTaker(HubLink* hub, Role role, uint64_t since_cut = 0, uint64_t done = 0)
      : hub_(hub), role_(role), since_cut_(since_cut), done_(done) {}

  // Waits for this worker's next turn and returns its assignment. CANCELLED after a stop, or once acting and training
  // must stop. ABORTED if a cut was made meanwhile: the worker must begin anew, and then has this turn. Other errors as
  // HubLink::WaitUntil.
  absl::StatusOr<Assignment> Await(const StopToken& stop) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the turn that Await returned with.
  void End() { hub_->ReportTurnDone(done_); }

  // The last turn that Await returned with; 0 before the first.
  uint64_t done() const { return done_; }

  struct Stats {
    absl::Duration waited;  // In Await, including the wait under way.
    bool waiting = false;   // In Await, now.
  };
  // Thread-safe.
  Stats stats() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  HubLink* const hub_;
  const Role role_;
  const uint64_t since_cut_;
  uint64_t done_;  // See done().
  mutable Mutex mutex_;
  WaitClock waits_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
