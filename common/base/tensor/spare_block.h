#pragma once

#include <cstddef>
#include <memory>

#include "common/base/tensor/buffer_pool.h"
#include "common/base/threads/mutex.h"

namespace waggle {

// Hands out large blocks of bytes, mostly of one size, and keeps one that is not in use any more for the next Take: the
// page faults of a fresh one cost more than filling it. A block of another size than the last one taken is not kept.
// Thread-safe; the blocks may outlive it.
class SpareBlock {
 public:
  // A block of uninitialised bytes aligned to 64.
  std::shared_ptr<char> Take(size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  std::shared_ptr<BufferPool> pool_ ABSL_GUARDED_BY(mutex_);
  size_t block_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace waggle
