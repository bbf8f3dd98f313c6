#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "common/base/threads/mutex.h"
#include "replay_server/base/memory_account.h"

namespace waggle {

// The memory of a server's sampled batches, of all its streams: large blocks are kept when they have been sent, for
// later batches of the same size. Given back to malloc, they go back to the system in part, and then each page of the
// next batch costs a fault: with items of 40 kB, half of the time that it takes to gather them. Thread-safe. Shared
// pointers own it, among them those of its blocks.
class BatchMemory : public std::enable_shared_from_this<BatchMemory> {
 public:
  // Keeps at most `max_kept_bytes` that are not in use, and lets rows of `max_lent_bytes` be sent from where they lie.
  explicit BatchMemory(int64_t max_kept_bytes, int64_t max_lent_bytes = 0)
      : max_kept_bytes_(max_kept_bytes), lent_(std::make_shared<MemoryAccount>(max_lent_bytes)) {}

  // A block of uninitialised bytes aligned to 64, which comes back when its last owner drops it.
  std::shared_ptr<char> Take(size_t size) ABSL_LOCKS_EXCLUDED(mutex_);

  // For a batch that keeps so many bytes of a table's memory from being freed until it is sent. Null if too many bytes
  // are lent: the batch must be copied. So a sampler that does not read keeps few rows alive that its table has
  // removed.
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
  std::deque<Block> kept_ ABSL_GUARDED_BY(mutex_);  // In the order in which they came back.
  int64_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace waggle
