#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "common/base/threads/mutex.h"
#include "replay_server/storage/last_checkpoint.h"
#include "replay_server/table/disk_picture.h"

namespace waggle {

// State of the journal's writes, for callers that wait for it and for people. Thread-safe.
class JournalHealth {
 public:
  // `folder` is for messages.
  explicit JournalHealth(std::string folder) : folder_(std::move(folder)) {}

  // UNAVAILABLE with the reason while writes fail. Cheap while they succeed.
  absl::Status status() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The current state. Leaves out the table's own part.
  DiskPicture picture() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Called after a failed write. True if the one before succeeded.
  bool Failed(const absl::Status& failure) ABSL_LOCKS_EXCLUDED(mutex_);
  // Called after a successful write. True if the one before failed.
  bool Succeeded() ABSL_LOCKS_EXCLUDED(mutex_);

  // Called when a caller waits for the next commit, when a commit begins, and when it is answered. The first two need
  // the journal's lock.
  void CommitAwaited();
  void CommitBegins() {
    commit_since_ns_ = next_since_ns_.load();  // First: otherwise no caller would seem to wait for a moment.
    next_since_ns_ = 0;
  }
  void CommitEnds() { commit_since_ns_ = 0; }

  void CheckpointBegins() { makes_checkpoint_ = true; }
  // `number` is the kept copy's.
  void CheckpointEnds(const absl::Status& status, uint64_t number);

 private:
  const std::string folder_;
  LastCheckpoint checkpoints_;
  std::atomic<bool> healthy_{true};  // True if failure_ is OK. Atomic: read for each block.
  // Coarse steady time since when callers wait for the next and the current commit; 0: none. Written for each block.
  std::atomic<int64_t> next_since_ns_{0};
  std::atomic<int64_t> commit_since_ns_{0};
  std::atomic<bool> makes_checkpoint_{false};  // Written by the journal's thread.

  mutable Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  absl::Duration failed_at_ ABSL_GUARDED_BY(mutex_);  // SteadyElapsed of the first failure.
};

}  // namespace waggle
