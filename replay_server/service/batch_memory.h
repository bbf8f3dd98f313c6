#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "common/base/threads/mutex.h"
#include "replay_server/base/memory_account.h"

namespace waggle {

// The memory of the sampled batches of all a server's streams. Keeps large blocks that have been sent for later batches
// of the same size. malloc would return part of them to the system, and each page of the next batch would then cost a
// fault: with items of 40 kB, half of the time of gathering. Thread-safe. Owned by shared pointers, also of its blocks.
class BatchMemory : public std::enable_shared_from_this<BatchMemory> {
 public:
  // Keeps at most `max_kept_bytes` of unused blocks, and lends at most `max_lent_bytes` (see TryLend).
  explicit BatchMemory(int64_t max_kept_bytes, int64_t max_lent_bytes = 0)
      : max_kept_bytes_(max_kept_bytes), lent_(std::make_shared<MemoryAccount>(max_lent_bytes)) {}

  // Returns uninitialised bytes, aligned to 64. They come back when the last owner drops them.
  std::shared_ptr<char> Take(size_t size) ABSL_LOCKS_EXCLUDED(mutex_);

  // For a batch that is sent without a copy, and keeps so many bytes of a table's memory from being freed until then.
  // Null if too many bytes are lent: the batch must be copied. This bounds the removed rows that a sampler which does
  // not read keeps alive.
  MemoryAccount::Share TryLend(int64_t bytes) { return lent_->TryTake(bytes); }

 private:
  struct Block {
    int64_t bytes = 0;
    std::shared_ptr<char> memory;
  };

  // Null if no block of this size is kept.
  std::shared_ptr<char> TakeKept(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  void Keep(Block block) ABSL_LOCKS_EXCLUDED(mutex_);

  const int64_t max_kept_bytes_;
  const std::shared_ptr<MemoryAccount> lent_;
  Mutex mutex_;
  std::deque<Block> kept_ ABSL_GUARDED_BY(mutex_);  // Oldest first.
  int64_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace waggle
