#include "common/base/tensor/buffer_pool.h"

#include <utility>
#include <vector>

#include "common/base/tensor/byte_slices.h"
#include "common/base/threads/mutex.h"

namespace waggle {

// The blocks that are not in use. Blocks in use share it, so that they come back.
class BufferPool::Shelf {
 public:
  explicit Shelf(size_t max_kept) : max_kept_(max_kept) {}

  std::shared_ptr<char> TakeOne() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    if (kept_.empty()) {
      return nullptr;
    }
    std::shared_ptr<char> block = std::move(kept_.back());
    kept_.pop_back();
    return block;
  }

  void PutBack(std::shared_ptr<char> block) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    if (kept_.size() < max_kept_) {
      kept_.push_back(std::move(block));
    }
  }

 private:
  const size_t max_kept_;
  Mutex mutex_;
  std::vector<std::shared_ptr<char>> kept_ ABSL_GUARDED_BY(mutex_);
};

BufferPool::BufferPool(size_t block_bytes, size_t max_kept)
    : block_bytes_(block_bytes), shelf_(std::make_shared<Shelf>(max_kept)) {}

BufferPool::~BufferPool() = default;

std::shared_ptr<char> BufferPool::Take() {
  std::shared_ptr<char> block = shelf_->TakeOne();
  if (block == nullptr) {
    block = AllocateBytes(block_bytes_);
  }
  char* const bytes = block.get();
  // The deleter owns the block: it goes back to the shelf, or is freed with it.
  return std::shared_ptr<char>(
      bytes, [shelf = shelf_, block = std::move(block)](char* /*bytes*/) mutable { shelf->PutBack(std::move(block)); });
}

}  // namespace waggle
