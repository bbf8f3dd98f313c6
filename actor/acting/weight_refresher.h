#pragma once

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/backoff.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/stop_token.h"
#include "common/base/threads/thread.h"
#include "common/base/threads/wait_clock.h"
#include "common/hub/ports/model.h"

namespace waggle {

// Fetches newer weights on a thread of its own, so that acting never waits for the network. Retries with growing pauses
// while the server is away (UNAVAILABLE, DEADLINE_EXCEEDED); any other error is final. Thread-safe.
class WeightRefresher {
 public:
  // Fetches until `stop` or the refresher's end. `period`: the least time between fetches. `backoff`: pauses between
  // attempts to reach a server that is away.
  WeightRefresher(absl::Duration period, const Backoff& backoff, std::unique_ptr<ModelSubscriber> subscriber,
                  const StopToken& stop);
  ~WeightRefresher();

  // The newest weights that were not taken yet, if any; never waits for the network. The final error, if there was one.
  absl::StatusOr<std::optional<ModelSnapshot>> Take() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits for weights that were not taken yet. CANCELLED after a stop.
  absl::StatusOr<ModelSnapshot> WaitAndTake() ABSL_LOCKS_EXCLUDED(mutex_);

  // The same, for `patience` at most: nullopt after that.
  absl::StatusOr<std::optional<ModelSnapshot>> WaitAndTake(absl::Duration patience) ABSL_LOCKS_EXCLUDED(mutex_);

  struct Stats {
    absl::Duration waited;               // In WaitAndTake, the wait under way included.
    bool waiting = false;                // True while WaitAndTake waits.
    std::optional<ModelVersion> newest;  // The newest fetched version, taken or not.
  };
  Stats stats() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status FetchOne(std::optional<ModelVersion>* newest) ABSL_LOCKS_EXCLUDED(mutex_);

  const absl::Duration period_;
  Backoff backoff_;       // Used by thread_ only.
  const StopToken stop_;  // Its own, so that its end stops only this.
  const StopToken::Callback stop_with_owner_;
  const std::unique_ptr<ModelSubscriber> subscriber_;  // Used by thread_ only.

  mutable Mutex mutex_;
  CondVar changed_;
  WaitClock waits_ ABSL_GUARDED_BY(mutex_);
  std::optional<ModelSnapshot> newest_ ABSL_GUARDED_BY(mutex_);
  std::optional<ModelVersion> version_ ABSL_GUARDED_BY(mutex_);  // The last fetched version.
  absl::Status final_error_ ABSL_GUARDED_BY(mutex_);

  Thread thread_;
};

// True if a model port's error means that the server is away, so that a retry makes sense.
bool IsServerAway(const absl::Status& status);

}  // namespace waggle
