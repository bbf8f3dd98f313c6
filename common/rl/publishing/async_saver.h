#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "common/base/metrics/metrics.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/thread.h"
#include "common/rl/checkpoint/checkpoint_store.h"

namespace waggle {

// Writes checkpoints in its own thread, so that training does not wait for the disk. At most one is written at a time,
// because each takes the memory of a whole learner. The caller decides when to retry. Logs the first of consecutive
// failures and the next success. Used by one thread.
//
// Metrics: the counter "checkpoints_failed", and the gauge "checkpoint_failing", 1 from a failure to the next success;
// and of this process alone the counters of written checkpoints and their seconds, and the time of the last one.
class AsyncSaver {
 public:
  // `store` and `metrics` must outlive this, which alone uses the store.
  AsyncSaver(CheckpointStore* store, Metrics* metrics);
  // Waits for the last checkpoint.
  ~AsyncSaver();

  // True while a checkpoint is written: the next Save() would wait.
  bool busy() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Step of the last written checkpoint; -1 before the first.
  int64_t written_step() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes a checkpoint over. Waits for the one before.
  void Save(CheckpointContents contents) ABSL_LOCKS_EXCLUDED(mutex_);

  // The result of a checkpoint that ended since the last call; null if none did.
  std::optional<absl::Status> TakeResult() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits for the last checkpoint and returns its result.
  absl::Status Flush() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  void SetWrittenNow();
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
  Thread thread_;                              // Last: it uses the members above.
};

}  // namespace waggle
