#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "replay_server/storage/last_checkpoint.h"
#include "replay_server/table/disk_picture.h"

namespace waggle {

// How a journal gets on with its disk: for those who may add to what waits for it, and for people who ask. Thread-safe.
class JournalHealth {
 public:
  // The folder is for people, who may have to make room in it.
  explicit JournalHealth(std::string folder) : folder_(std::move(folder)) {}

  // OK, or why nothing can be written just now (UNAVAILABLE). Costs next to nothing while all is well.
  absl::Status status() const ABSL_LOCKS_EXCLUDED(mutex_);
  // As of now; without what is of one table.
  DiskPicture picture() const ABSL_LOCKS_EXCLUDED(mutex_);

  // A write has failed. Returns whether it is the first one since one has not.
  bool Failed(const absl::Status& failure) ABSL_LOCKS_EXCLUDED(mutex_);
  // A write has succeeded. Returns whether it is the first one since one has not.
  bool Succeeded() ABSL_LOCKS_EXCLUDED(mutex_);

  // Somebody waits for the next commit, from now on; it begins; they are answered. Called by who has the journal's
  // lock, but for the last.
  void CommitAwaited();
  void CommitBegins() {
    commit_since_ns_ = next_since_ns_.load();  // First: at no time it looks as if nobody waited.
    next_since_ns_ = 0;
  }
  void CommitEnds() { commit_since_ns_ = 0; }

  void CheckpointBegins() { makes_checkpoint_ = true; }
  // It was kept under this number, or not.
  void CheckpointEnds(const absl::Status& status, uint64_t number);

 private:
  const std::string folder_;
  LastCheckpoint checkpoints_;
  std::atomic<bool> healthy_{true};  // Whether failure_ is OK: asked for every block.
  // On the coarse steady clock, of who waits longest for the next commit and for the one that is under way; 0: nobody.
  // Atomic: written for every block.
  std::atomic<int64_t> next_since_ns_{0};
  std::atomic<int64_t> commit_since_ns_{0};
  std::atomic<bool> makes_checkpoint_{false};  // Written by the journal's thread.

  mutable Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  absl::Duration failed_at_ ABSL_GUARDED_BY(mutex_);  // By SteadyElapsed, the first of its kind.
};

}  // namespace waggle
