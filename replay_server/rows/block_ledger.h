#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/threads/mutex.h"

namespace waggle {

class ChunkTier;

// Set in the id of a block that has a tier. Its rows have their own record, so its head can be read without them.
inline constexpr uint64_t kTieredBlock = uint64_t{1} << 63;

// Gives ids to the blocks of rows that may be written to disk. Collects the ids of written blocks that no item and no
// stream refers to any more. Shared with the blocks, which may outlive the server. Thread-safe.
class BlockLedger {
 public:
  // Ids start at `next`.
  explicit BlockLedger(uint64_t next) : next_(next) {}

  // Never returns an id twice.
  uint64_t NewId(bool tiered = false) {
    return next_.fetch_add(1, std::memory_order_relaxed) | (tiered ? kTieredBlock : 0);
  }
  uint64_t next() const { return next_.load(std::memory_order_relaxed); }

  struct Gone {
    std::vector<uint64_t> logged;        // Only the journal's log has referred to them.
    std::vector<uint64_t> checkpointed;  // The last checkpoint may still refer to them.
  };
  void Add(uint64_t id, bool checkpointed) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    (checkpointed ? gone_.checkpointed : gone_.logged).push_back(id);
  }
  Gone TakeGone() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return std::exchange(gone_, {});
  }

 private:
  std::atomic<uint64_t> next_;
  Mutex mutex_;
  Gone gone_ ABSL_GUARDED_BY(mutex_);
};

// The owner of a block. A block without a ledger never outlives the server.
struct BlockHome {
  std::shared_ptr<BlockLedger> ledger;
  bool checkpointed = false;                  // Tables that checkpoints save may refer to it.
  std::shared_ptr<ChunkTier> tier = nullptr;  // Null if its rows stay in memory.
};

}  // namespace waggle
