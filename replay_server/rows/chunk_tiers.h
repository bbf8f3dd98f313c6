#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/thread.h"
#include "replay_server/rows/chunk_tier.h"
#include "replay_server/rows/cold_rows.h"

namespace waggle {

// How tiers call their thread. Shared with them, for they may outlive it. Thread-safe.
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
  // A number for a block on disk; never given again.
  uint64_t NewId() { return next_id.fetch_add(1, std::memory_order_relaxed); }
  std::atomic<uint64_t> next_id{1};
};

// The tiers of all tables of a server, and the one thread that writes their rows to disk, a batch for each tier in
// turn. While the disk refuses that it tries again five times a second. Thread-safe.
class ChunkTiers {
 public:
  explicit ChunkTiers(std::shared_ptr<ColdRows> disk);
  // Stops.
  ~ChunkTiers();
  ChunkTiers(const ChunkTiers&) = delete;
  ChunkTiers& operator=(const ChunkTiers&) = delete;

  // A tier for this table.
  std::shared_ptr<ChunkTier> New(const std::string& table, int64_t limit) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes on one that was made before this was.
  void Attach(const std::shared_ptr<ChunkTier>& tier) ABSL_LOCKS_EXCLUDED(mutex_);

  // Nothing is written after this, and who waits for room is answered CANCELLED. What is on disk can still be read.
  // Idempotent.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::shared_ptr<ChunkTier>> Tiers() ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until there is work, or for the pause; false if it is to stop.
  bool Await(absl::Duration pause, bool for_work);

  const std::shared_ptr<ColdRows> disk_;
  const std::shared_ptr<TierSignal> signal_ = std::make_shared<TierSignal>();
  Mutex mutex_;
  std::vector<std::weak_ptr<ChunkTier>> tiers_ ABSL_GUARDED_BY(mutex_);
  Thread thread_;  // Last: it uses everything above.
};

}  // namespace waggle
