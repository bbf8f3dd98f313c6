#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/threads/mutex.h"
#include "common/base/threads/thread.h"
#include "replay_server/rows/chunk_tier.h"
#include "replay_server/rows/cold_rows.h"

namespace waggle {

// Wakes the tiers' thread. Shared with the tiers, which may outlive it. Thread-safe.
struct TierSignal {
  Mutex mutex;
  CondVar changed;
  bool work ABSL_GUARDED_BY(mutex) = false;
  bool stop ABSL_GUARDED_BY(mutex) = false;

  void Notify() ABSL_LOCKS_EXCLUDED(mutex) {
    MutexLock lock(&mutex);
    work = true;
    changed.Signal();
  }
  // An id for a block on disk. Never returns an id twice.
  uint64_t NewId() { return next_id.fetch_add(1, std::memory_order_relaxed); }
  std::atomic<uint64_t> next_id{1};
};

// The tiers of all tables of a server, and the thread that writes their rows to disk: one batch of each tier in turn.
// After a failed write it tries again five times a second. Thread-safe.
class ChunkTiers {
 public:
  explicit ChunkTiers(std::shared_ptr<ColdRows> disk);
  ~ChunkTiers();
  ChunkTiers(const ChunkTiers&) = delete;
  ChunkTiers& operator=(const ChunkTiers&) = delete;

  std::shared_ptr<ChunkTier> New(const std::string& table, int64_t limit) ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds a tier that was made before this object.
  void Attach(const std::shared_ptr<ChunkTier>& tier) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends writing. Waiting inserts are answered CANCELLED. Rows on disk can still be read. Idempotent.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::shared_ptr<ChunkTier>> Tiers() ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for work or until the pause is over. False if stopped.
  bool Await(absl::Duration pause, bool for_work);

  const std::shared_ptr<ColdRows> disk_;
  const std::shared_ptr<TierSignal> signal_ = std::make_shared<TierSignal>();
  Mutex mutex_;
  std::vector<std::weak_ptr<ChunkTier>> tiers_ ABSL_GUARDED_BY(mutex_);
  Thread thread_;  // Last: it uses the members above.
};

}  // namespace waggle
