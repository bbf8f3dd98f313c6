#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/mutex.h"

namespace waggle {

class ChunkTier;

// Set in the number of a block that has a tier: its rows have a record of their own, so that the others can be read
// without them.
inline constexpr uint64_t kTieredBlock = uint64_t{1} << 63;

// Names the blocks of rows that may be written to disk, and remembers which of those that were have gone from memory:
// no item and no stream refers to them any more. Shared with the blocks, which may outlive everything else.
// Thread-safe.
class BlockLedger {
 public:
  // Numbers from `next` on.
  explicit BlockLedger(uint64_t next) : next_(next) {}

  // Never given again.
  uint64_t NewId(bool tiered = false) {
    return next_.fetch_add(1, std::memory_order_relaxed) | (tiered ? kTieredBlock : 0);
  }
  uint64_t next() const { return next_.load(std::memory_order_relaxed); }

  struct Gone {
    std::vector<uint64_t> logged;        // Only what is logged has referred to them.
    std::vector<uint64_t> checkpointed;  // What is saved by checkpoints has referred to them too, and so they do yet.
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

// Who a block belongs to; without a ledger it never outlives the server.
struct BlockHome {
  std::shared_ptr<BlockLedger> ledger;
  bool checkpointed = false;                  // A table that is saved by checkpoints may refer to it.
  std::shared_ptr<ChunkTier> tier = nullptr;  // Null where its rows stay in memory.
};

}  // namespace waggle
