#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/backoff.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/stop_token.h"
#include "common/base/threads/thread.h"
#include "common/base/threads/wait_clock.h"
#include "common/hub/ports/hub.h"

namespace waggle {

// An actor's lease of the remaining environment steps of a run with a limit. A thread of its own renews it before it is
// used up, so that acting waits only if other actors have all remaining steps, or the hub is away. Allows and Wait are
// called by one thread; stats by any.
class StepBudget {
 public:
  // HubLink::TakeSteps.
  using Ask = std::function<absl::StatusOr<int64_t>(const StepRequest& request, const StopToken& stop)>;

  // Asks the hub until `stop` or the budget's end. `block`: steps that are handed over together. `backoff`: pauses
  // between requests while the hub is away or has no steps.
  StepBudget(int64_t block, const Backoff& backoff, Ask ask, const StopToken& stop);
  ~StepBudget();

  // True if the actor, which has taken `used` steps in all, may take another now. Takes no lock in most calls.
  bool Allows(int64_t used, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_) {
    used_.store(used, std::memory_order_relaxed);
    return (used < look_at_ && now < look_by_) || Look(used, now);
  }

  // Waits until a step is allowed. CANCELLED after a stop; any other error is the hub's, and final.
  absl::Status Wait() ABSL_LOCKS_EXCLUDED(mutex_);

  struct Stats {
    absl::Duration waited;  // In Wait, the wait under way included.
    bool waiting = false;
  };
  Stats stats() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  bool Look(int64_t used, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns when a request is due, or at a stop.
  void WaitUntilDue() ABSL_LOCKS_EXCLUDED(mutex_);
  // Asks once. UNAVAILABLE if it brought no step.
  absl::Status AskOnce() ABSL_LOCKS_EXCLUDED(mutex_);

  const int64_t block_;
  Backoff backoff_;  // Used by thread_ only.
  const Ask ask_;
  const StopToken stop_;  // Its own, so that its end stops only this.
  const StopToken::Callback stop_with_owner_;

  // Used by the acting thread: before look_by_ and below look_at_ steps, Allows needs no lock.
  int64_t look_at_ = 0;
  absl::Time look_by_ = absl::InfinitePast();
  std::atomic<int64_t> used_{0};  // Written with every step, which takes no lock.

  // Used by thread_ only: the last answered request's.
  int64_t asked_used_ = 0;
  absl::Time asked_ = absl::InfinitePast();

  mutable Mutex mutex_;
  CondVar changed_;
  int64_t allowed_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t renew_at_ ABSL_GUARDED_BY(mutex_) = 0;                          // Steps at which half of the lease is used.
  absl::Time good_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // Then other actors may get the lease.
  bool due_ ABSL_GUARDED_BY(mutex_) = true;                               // Half of the lease is used.
  WaitClock waits_ ABSL_GUARDED_BY(mutex_);
  absl::Status final_error_ ABSL_GUARDED_BY(mutex_);

  const StopToken::Callback wake_;
  Thread thread_;  // Last: uses everything above.
};

}  // namespace waggle
