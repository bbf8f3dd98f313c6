#pragma once

#include <cstddef>
#include <memory>

#include "common/base/tensor/buffer_pool.h"
#include "common/base/threads/mutex.h"

namespace waggle {

// Hands out large blocks of bytes, mostly of one size. Keeps an unused one for the next Take, because the page faults
// of a fresh block cost more than filling it. Keeps only blocks of the size of the last Take. Thread-safe; the blocks
// may outlive it.
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
