#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/api/model.h"
#include "common/base/mutex.h"
#include "common/base/stop_token.h"
#include "common/base/thread.h"

namespace waggle {

// Publishes weights from a thread of its own, so that training never waits for the network. Holds at most one version
// that is not published yet: a newer one replaces it. While the server is away it tries again, with a growing pause.
// Used by one thread.
class AsyncPublisher {
 public:
  // `publisher` outlives this object, which alone uses it.
  explicit AsyncPublisher(ModelPublisher* publisher);
  // Gives up what is not published.
  ~AsyncPublisher();

  // Hands a version over. Returns the error that ended publishing, if one did: FAILED_PRECONDITION if a later learner
  // has published.
  absl::Status Publish(ModelSnapshot snapshot) ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until all that was handed over is published. DEADLINE_EXCEEDED after `timeout`, else as Publish.
  absl::Status Flush(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // Publishes until it succeeds, a newer version waits or publishing has failed for good.
  absl::Status PublishOne(const ModelSnapshot& snapshot) ABSL_LOCKS_EXCLUDED(mutex_);

  ModelPublisher* const publisher_;
  const StopToken stop_;
  Mutex mutex_;
  CondVar changed_;
  std::optional<ModelSnapshot> pending_ ABSL_GUARDED_BY(mutex_);
  bool publishing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status final_error_ ABSL_GUARDED_BY(mutex_);
  Thread thread_;  // Last: it uses the others.
};

}  // namespace waggle
