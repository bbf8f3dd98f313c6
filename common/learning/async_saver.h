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
// as each takes the memory of a whole learner. When one fails, when the next is to be written is up to the caller; the
// first failure of several in a row is logged, and the first success after them. Used by one thread.
//
// Metrics: the counter "checkpoints_failed", and the gauge "checkpoint_failing", which is 1 from a failure to the next
// success.
class AsyncSaver {
 public:
  // `store` and `metrics` outlive this object, which alone uses the store.
  AsyncSaver(CheckpointStore* store, Metrics* metrics);
  // Waits until what was handed over is written or has failed.
  ~AsyncSaver();

  // Whether one is under way, so that the next Save() would wait.
  bool busy() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Of the last one that was written; -1 before the first.
  int64_t written_step() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Hands a checkpoint over, once the one before is written or has failed.
  void Save(CheckpointContents contents) ABSL_LOCKS_EXCLUDED(mutex_);

  // What became of the one that ended since the last call, if one did.
  std::optional<absl::Status> TakeResult() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until what was handed over is on the device or has failed. Returns what became of the last one.
  absl::Status Flush() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  void WaitForIdleLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  CheckpointStore* const store_;
  Metrics* const metrics_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::optional<CheckpointContents> pending_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // From Save() until that is written or has failed.
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t written_step_ ABSL_GUARDED_BY(mutex_) = -1;
  absl::Status last_ ABSL_GUARDED_BY(mutex_);
  bool taken_ ABSL_GUARDED_BY(mutex_) = true;  // TakeResult() has returned last_.
  Thread thread_;                              // Last: it uses the others.
};

}  // namespace waggle
