#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/status/cluster_client.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/thread.h"

namespace waggle {

// Fetches snapshots of an experiment periodically, in its own thread, for a loop that waits on file descriptors.
// Thread-safe.
class ClusterWatch {
 public:
  // Fetches once every `period`; each fetch may take `timeout`.
  ClusterWatch(const std::string& param_server, const std::string& experiment_id, absl::Duration period,
               absl::Duration timeout);
  // Waits for the fetch under way.
  ~ClusterWatch();
  ClusterWatch(const ClusterWatch&) = delete;
  ClusterWatch& operator=(const ClusterWatch&) = delete;

  // Becomes readable when Take() has something.
  int file_descriptor() const { return event_; }

  // The newest result, unless it was already taken.
  std::optional<absl::StatusOr<ClusterSnapshot>> Take() ABSL_LOCKS_EXCLUDED(mutex_);

  // Fetches once more without waiting for the period to pass.
  void Hurry() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run(ClusterClient* client) ABSL_LOCKS_EXCLUDED(mutex_);

  const absl::Duration period_;
  const absl::Duration timeout_;
  const int event_;  // An eventfd.
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool hurry_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::StatusOr<ClusterSnapshot>> newest_ ABSL_GUARDED_BY(mutex_);
  Thread thread_;  // Last: it uses everything above.
};

}  // namespace waggle
