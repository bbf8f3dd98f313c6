#pragma once

#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/stop_token.h"
#include "common/base/threads/thread.h"
#include "common/hub/ports/model.h"

namespace waggle {

struct AsyncPublisherOptions {
  // The newest version that the server says readers can get, maybe late. Called by the publisher's thread. Null:
  // published versions are assumed to stay.
  std::function<std::optional<ModelVersion>()> known_version;
  // Age of `known_version` after which lost weights are published again. Must exceed the server's delay.
  absl::Duration patience = absl::Seconds(3);
};

// Publishes weights in its own thread, so that training never waits for the network. Holds at most one unpublished
// version, the newest. Retries with a growing pause while the server is away. A restarted server that lost the weights
// gets them again: processes that the learner needs may wait for them. Used by one thread.
class AsyncPublisher {
 public:
  // `publisher` must outlive this, and have no other user.
  AsyncPublisher(ModelPublisher* publisher, AsyncPublisherOptions options);
  // Drops the unpublished version.
  ~AsyncPublisher();

  // Takes a version over. Returns a final error of publishing: FAILED_PRECONDITION if a later learner has published.
  absl::Status Publish(ModelSnapshot snapshot) ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until all versions are published. DEADLINE_EXCEEDED after `timeout`; other errors are Publish's.
  absl::Status Flush(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until all versions are published, for `timeout` and then until `run_over`, unless that is null. If this is
  // too short but a last checkpoint has the weights, returns OK. Otherwise as Flush.
  absl::Status FlushLast(absl::Duration timeout, const StopToken* run_over, bool has_checkpoint)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // The next version to publish; null after `timeout` or during destruction.
  std::optional<ModelSnapshot> WaitForNext(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);
  // True if the server has an older version than this published one.
  bool IsLost(const ModelVersion& published) const;
  // Publishes until success, a final error or a newer version. `again` says that it was published before.
  absl::Status PublishOne(const ModelSnapshot& snapshot, bool again) ABSL_LOCKS_EXCLUDED(mutex_);

  ModelPublisher* const publisher_;
  const AsyncPublisherOptions options_;
  const StopToken stop_;
  bool away_ = false;  // Owned by the thread. The server did not answer, which is logged once.
  Mutex mutex_;
  CondVar changed_;
  std::optional<ModelSnapshot> pending_ ABSL_GUARDED_BY(mutex_);
  bool publishing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status final_error_ ABSL_GUARDED_BY(mutex_);
  Thread thread_;  // Last: it uses the members above.
};

}  // namespace waggle
