#include "param_server/gradients/gradient_buffers.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "common/base/tensor/buffer_pool.h"
#include "common/base/threads/mutex.h"

namespace waggle {
namespace {

// Spare blocks: as many as a few streams fill at a time.
constexpr size_t kKept = 16;

}  // namespace

class GradientBuffers::Shelf : public std::enable_shared_from_this<Shelf> {
 public:
  explicit Shelf(int64_t max_bytes) : max_bytes_(max_bytes) {}

  void Take(int64_t bytes, const std::weak_ptr<const void>& owner, Ready ready) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      waiting_.erase(std::remove_if(waiting_.begin(), waiting_.end(),
                                    [](const Waiting& waiting) { return waiting.owner.expired(); }),
                     waiting_.end());
      if (!waiting_.empty() || !FitsLocked(bytes)) {
        waiting_.push_back({bytes, owner, std::move(ready)});
        return;
      }
      used_ += bytes;
    }
    ready(Make(bytes));
  }

 private:
  struct Waiting {
    int64_t bytes = 0;
    std::weak_ptr<const void> owner;
    Ready ready;
  };

  bool FitsLocked(int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return used_ == 0 || used_ + bytes <= max_bytes_;
  }

  std::shared_ptr<float> Make(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<BufferPool> pool;
    {
      MutexLock lock(&mutex_);
      if (pool_ == nullptr || pool_bytes_ != bytes) {
        pool_ = std::make_shared<BufferPool>(static_cast<size_t>(bytes), kKept);
        pool_bytes_ = bytes;
      }
      pool = pool_;
    }
    std::shared_ptr<char> block = pool->Take();
    auto* const data = reinterpret_cast<float*>(block.get());
    return std::shared_ptr<float>(data, [block = std::move(block), shelf = shared_from_this(), bytes](float*) mutable {
      block = nullptr;
      shelf->Release(bytes);
    });
  }

  void Release(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::deque<Waiting> next;
    {
      MutexLock lock(&mutex_);
      used_ -= bytes;
      while (!waiting_.empty() && (waiting_.front().owner.expired() || FitsLocked(waiting_.front().bytes))) {
        if (!waiting_.front().owner.expired()) {
          used_ += waiting_.front().bytes;
          next.push_back(std::move(waiting_.front()));
        }
        waiting_.pop_front();
      }
    }
    for (const Waiting& waiting : next) {
      std::shared_ptr<float> buffer = Make(waiting.bytes);
      if (const std::shared_ptr<const void> owner = waiting.owner.lock()) {
        waiting.ready(std::move(buffer));
      }
    }
  }

  const int64_t max_bytes_;
  Mutex mutex_;
  int64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<BufferPool> pool_ ABSL_GUARDED_BY(mutex_);  // Blocks of the last requested size.
  int64_t pool_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

GradientBuffers::GradientBuffers(int64_t max_bytes) : shelf_(std::make_shared<Shelf>(max_bytes)) {}

void GradientBuffers::Take(int64_t elements, const std::weak_ptr<const void>& owner, Ready ready) {
  shelf_->Take(elements * static_cast<int64_t>(sizeof(float)), owner, std::move(ready));
}

}  // namespace waggle
