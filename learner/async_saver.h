#pragma once

#include <optional>

#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "common/base/thread.h"
#include "common/checkpoint/checkpoint_store.h"

namespace waggle {

// Writes checkpoints from a thread of its own, so that training does not wait for the disk. At most one is under way,
// as each takes the memory of a whole learner. Used by one thread.
class AsyncSaver {
 public:
  // `store` outlives this object, which alone uses it.
  explicit AsyncSaver(CheckpointStore* store);
  // Waits until what was handed over is written.
  ~AsyncSaver();

  // Whether one is under way, so that the next Save() would wait.
  bool busy() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The error that ended saving, if one did.
  absl::Status status() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Hands a checkpoint over, once the one before is written. Returns what status() does.
  absl::Status Save(CheckpointContents contents) ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until all that was handed over is on the device. Returns what status() does.
  absl::Status Flush() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  void WaitForIdleLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  CheckpointStore* const store_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::optional<CheckpointContents> pending_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // From Save() until that is written.
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  Thread thread_;  // Last: it uses the others.
};

}  // namespace waggle
