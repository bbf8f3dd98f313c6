#include "replay_server/service/batch_memory.h"

#include <deque>
#include <utility>
#include <vector>

#include "common/base/mutex.h"
#include "common/tensor/byte_slices.h"

namespace waggle {
namespace {

// Smaller ones malloc keeps by itself.
constexpr size_t kSmallestKept = size_t{64} << 10;

}  // namespace

// The blocks that are not in use; shared with those that are, so that they find back.
class BatchMemory::Shelf {
 public:
  explicit Shelf(size_t max_bytes) : max_bytes_(max_bytes) {}

  std::shared_ptr<char> TakeOne(size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    // The newest first, which may still be in a cache. There are few: they are large.
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
      if (block->bytes == bytes) {
        std::shared_ptr<char> memory = std::move(block->memory);
        blocks_.erase(std::next(block).base());
        bytes_ -= bytes;
        return memory;
      }
    }
    return nullptr;
  }

  void PutBack(size_t bytes, std::shared_ptr<char> memory) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<Block> dropped;  // Destroyed outside the lock.
    MutexLock lock(&mutex_);
    blocks_.push_back({bytes, std::move(memory)});
    bytes_ += bytes;
    while (bytes_ > max_bytes_) {  // Those of a size that nobody asks for any more are the oldest.
      bytes_ -= blocks_.front().bytes;
      dropped.push_back(std::move(blocks_.front()));
      blocks_.pop_front();
    }
  }

 private:
  struct Block {
    size_t bytes = 0;
    std::shared_ptr<char> memory;
  };

  const size_t max_bytes_;
  Mutex mutex_;
  std::deque<Block> blocks_ ABSL_GUARDED_BY(mutex_);  // In the order in which they came back.
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

BatchMemory::BatchMemory(size_t max_kept_bytes, size_t max_lent_bytes)
    : shelf_(std::make_shared<Shelf>(max_kept_bytes)), lent_bytes_(static_cast<int64_t>(max_lent_bytes)) {}

BatchMemory::~BatchMemory() = default;

std::shared_ptr<char> BatchMemory::Take(size_t bytes) {
  if (bytes < kSmallestKept) {
    return AllocateBytes(bytes);
  }
  std::shared_ptr<char> block = shelf_->TakeOne(bytes);
  if (block == nullptr) {
    block = AllocateBytes(bytes);
  }
  char* const begin = block.get();
  // The deleter owns the block: it goes back to the shelf, or is freed with it.
  return std::shared_ptr<char>(begin, [shelf = shelf_, bytes, block = std::move(block)](char* /*begin*/) mutable {
    shelf->PutBack(bytes, std::move(block));
  });
}

}  // namespace waggle
