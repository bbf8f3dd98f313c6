#include "replay_server/service/batch_memory.h"

#include <utility>
#include <vector>

#include "common/base/tensor/byte_slices.h"

namespace waggle {

std::shared_ptr<char> BatchMemory::Take(size_t size) {
  constexpr size_t kSmallestKept = size_t{64} << 10;  // malloc keeps smaller blocks.
  if (size < kSmallestKept) {
    return AllocateBytes(size);
  }
  const auto bytes = static_cast<int64_t>(size);
  std::shared_ptr<char> block = TakeKept(bytes);
  if (block == nullptr) {
    block = AllocateBytes(size);
  }
  char* const begin = block.get();
  // The deleter owns the block.
  return std::shared_ptr<char>(begin,
                               [self = shared_from_this(), bytes, block = std::move(block)](char* /*begin*/) mutable {
                                 self->Keep({bytes, std::move(block)});
                               });
}

std::shared_ptr<char> BatchMemory::TakeKept(int64_t bytes) {
  MutexLock lock(&mutex_);
  // The newest block first, which may still be in a cache. There are few blocks, because they are large.
  for (auto block = kept_.rbegin(); block != kept_.rend(); ++block) {
    if (block->bytes == bytes) {
      std::shared_ptr<char> memory = std::move(block->memory);
      kept_.erase(std::next(block).base());
      kept_bytes_ -= bytes;
      return memory;
    }
  }
  return nullptr;
}

void BatchMemory::Keep(Block block) {
  std::vector<Block> dropped;  // Destroyed outside the lock.
  MutexLock lock(&mutex_);
  kept_bytes_ += block.bytes;
  kept_.push_back(std::move(block));
  while (kept_bytes_ > max_kept_bytes_) {  // The oldest first: their size is no longer used.
    kept_bytes_ -= kept_.front().bytes;
    dropped.push_back(std::move(kept_.front()));
    kept_.pop_front();
  }
}

}  // namespace waggle
