#include "actor/buffer_pool.h"

#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/tensor/byte_slices.h"

namespace waggle {

struct BufferPool::FreeList {
  explicit FreeList(size_t max_buffers) : max_free(max_buffers) {
    buffers.reserve(max_free);  // Giving one back must not fail.
  }

  const size_t max_free;
  Mutex mutex;
  std::vector<std::shared_ptr<char>> buffers ABSL_GUARDED_BY(mutex);
};

BufferPool::BufferPool(size_t buffer_bytes, size_t max_free)
    : buffer_bytes_(buffer_bytes), free_(std::make_shared<FreeList>(max_free)) {}

std::shared_ptr<char> BufferPool::Take() {
  std::shared_ptr<char> buffer;
  {
    MutexLock lock(&free_->mutex);
    if (!free_->buffers.empty()) {
      buffer = std::move(free_->buffers.back());
      free_->buffers.pop_back();
    }
  }
  if (buffer == nullptr) {
    buffer = AllocateBytes(buffer_bytes_);
  }
  char* const bytes = buffer.get();
  return std::shared_ptr<char>(bytes, [free = free_, kept = std::move(buffer)](char*) mutable {
    MutexLock lock(&free->mutex);
    if (free->buffers.size() < free->max_free) {
      free->buffers.push_back(std::move(kept));
    }
  });
}

}  // namespace waggle
