#include "common/base/tensor/spare_block.h"

#include <utility>

namespace waggle {

std::shared_ptr<char> SpareBlock::Take(size_t bytes) {
  std::shared_ptr<BufferPool> pool;
  std::shared_ptr<BufferPool> replaced;  // Freed outside the lock.
  {
    MutexLock lock(&mutex_);
    if (pool_ == nullptr || block_bytes_ != bytes) {
      replaced = std::exchange(pool_, std::make_shared<BufferPool>(bytes, /*max_kept=*/1));
      block_bytes_ = bytes;
    }
    pool = pool_;
  }
  replaced = nullptr;  // Before more is taken.
  return pool->Take();
}

}  // namespace waggle
