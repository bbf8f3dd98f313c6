#pragma once

#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/api/model.h"
#include "common/base/mutex.h"
#include "common/base/stop_token.h"
#include "common/base/thread.h"

namespace waggle {

struct AsyncPublisherOptions {
  // The newest version that readers can get, as the server last said; it may say so late. Called by the publisher's
  // thread. Null: published versions are taken to stay published.
  std::function<std::optional<ModelVersion>()> known_version;
  // The time that `known_version` may be older than the published version before that is published again. Longer than a
  // server takes to say what it has.
  absl::Duration patience = absl::Seconds(3);
};

// Publishes weights from a thread of its own, so that training never waits for the network. Holds at most one version
// that is not published yet: a newer one replaces it. While the server is away it tries again, with a growing pause. A
// server that was restarted and has lost the weights gets them again: the learner's next step may depend on processes
// that wait for them. Used by one thread.
class AsyncPublisher {
 public:
  // `publisher` outlives this object, which alone uses it.
  AsyncPublisher(ModelPublisher* publisher, AsyncPublisherOptions options);
  // Drops the version that is not published.
  ~AsyncPublisher();

  // Hands a version over. Returns the error that ended publishing, if one did: FAILED_PRECONDITION if a later learner
  // has published.
  absl::Status Publish(ModelSnapshot snapshot) ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until all versions are published. DEADLINE_EXCEEDED after `timeout`, otherwise as Publish.
  absl::Status Flush(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until all versions are published, for `timeout` and then until `run_over`, unless that is null. If this is
  // too short but a last checkpoint has the weights, returns OK. Otherwise as Flush.
  absl::Status FlushLast(absl::Duration timeout, const StopToken* run_over, bool has_checkpoint)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // The next version to publish; nothing when `timeout` has passed or this object is being destroyed.
  std::optional<ModelSnapshot> WaitForNext(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);
  // True if the server has an older version than this one, which it was given.
  bool IsLost(const ModelVersion& published) const;
  // Publishes until it succeeds, a newer version waits or publishing has failed for good. `again`: it was published
  // before.
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
  Thread thread_;  // Last: it uses the others.
};

}  // namespace waggle
