#pragma once

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/api/model.h"
#include "common/base/backoff.h"
#include "common/base/mutex.h"
#include "common/base/stop_token.h"
#include "common/base/thread.h"
#include "common/base/wait_clock.h"

namespace waggle {

// Fetches newer weights on a thread of its own, so that acting never waits for the network. A server that is away
// (UNAVAILABLE, DEADLINE_EXCEEDED) is asked again with growing pauses; any other error is final. Thread-safe.
class WeightRefresher {
 public:
  // Starts fetching, until `stop` or the refresher's end. `period`: the least time from one fetch to the next.
  // `backoff`: how long to leave a server alone that is away.
  WeightRefresher(absl::Duration period, const Backoff& backoff, std::unique_ptr<ModelSubscriber> subscriber,
                  const StopToken& stop);
  ~WeightRefresher();

  // The newest weights that nobody has taken yet, if any; never waits for the network. The final error, if there was
  // one.
  absl::StatusOr<std::optional<ModelSnapshot>> Take() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits for weights that nobody has taken yet. CANCELLED after a stop.
  absl::StatusOr<ModelSnapshot> WaitAndTake() ABSL_LOCKS_EXCLUDED(mutex_);

  // The same for `patience` at most: none after that.
  absl::StatusOr<std::optional<ModelSnapshot>> WaitAndTake(absl::Duration patience) ABSL_LOCKS_EXCLUDED(mutex_);

  struct Stats {
    absl::Duration waited;               // In WaitAndTake, the wait under way included.
    bool waiting = false;                // There, now.
    std::optional<ModelVersion> newest;  // That was fetched, whether or not somebody has taken it.
  };
  Stats stats() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status FetchOne(std::optional<ModelVersion>* newest) ABSL_LOCKS_EXCLUDED(mutex_);

  const absl::Duration period_;
  Backoff backoff_;       // Used by thread_ only.
  const StopToken stop_;  // Its own, so that its end stops nobody else.
  const StopToken::Callback stop_with_owner_;
  const std::unique_ptr<ModelSubscriber> subscriber_;  // Used by thread_ only.

  mutable Mutex mutex_;
  CondVar changed_;
  WaitClock waits_ ABSL_GUARDED_BY(mutex_);
  std::optional<ModelSnapshot> newest_ ABSL_GUARDED_BY(mutex_);
  std::optional<ModelVersion> version_ ABSL_GUARDED_BY(mutex_);  // Of the last that was fetched.
  absl::Status final_error_ ABSL_GUARDED_BY(mutex_);

  Thread thread_;
};

// Whether a model port's error says that the server is away, so that asking again makes sense.
bool IsServerAway(const absl::Status& status);

}  // namespace waggle
