#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "common/base/thread.h"
#include "common/checkpoint/checkpoint_store.h"
#include "common/metrics/metrics.h"

namespace waggle {

// Writes checkpoints from a thread of its own, so that training does not wait for the disk. At most one is under way,
// as each takes the memory of a whole learner. The caller decides when to save again after a failure. Of several
// failures in a row the first is logged, and then the first success. Used by one thread.
//
// Metrics: the counter "checkpoints_failed", and the gauge "checkpoint_failing", which is 1 from a failure to the next
// success.
class AsyncSaver {
 public:
  // `store` and `metrics` outlive this object, which alone uses the store.
  AsyncSaver(CheckpointStore* store, Metrics* metrics);
  // Waits until the last checkpoint is written or has failed.
  ~AsyncSaver();

  // True if a checkpoint is under way, so that the next Save() would wait.
  bool busy() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The step of the last written checkpoint; -1 before the first.
  int64_t written_step() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Hands a checkpoint over. Waits until the one before is written or has failed.
  void Save(CheckpointContents contents) ABSL_LOCKS_EXCLUDED(mutex_);

  // The result of the checkpoint that ended since the last call, if one did.
  std::optional<absl::Status> TakeResult() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until the last checkpoint is on the device or has failed, and returns its result.
  absl::Status Flush() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  void WaitForIdleLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  CheckpointStore* const store_;
  Metrics* const metrics_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::optional<CheckpointContents> pending_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // From Save() until the checkpoint is written or has failed.
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t written_step_ ABSL_GUARDED_BY(mutex_) = -1;
  absl::Status last_ ABSL_GUARDED_BY(mutex_);
  bool taken_ ABSL_GUARDED_BY(mutex_) = true;  // TakeResult() has returned last_.
  Thread thread_;                              // Last: it uses the others.
};

}  // namespace waggle
