#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace waggle {

// So many of something that may be in use at a time. Nobody waits: who comes when there are none left goes without.
// Thread-safe.
class Quota {
 public:
  explicit Quota(int64_t most) : most_(most) {}

  // Something to be held for as long as `count` of them are in use, which may outlive this; null if that would be too
  // many.
  std::shared_ptr<const void> TryTake(int64_t count) const {
    if (used_->fetch_add(count) + count > most_) {
      used_->fetch_sub(count);
      return nullptr;
    }
    return std::shared_ptr<const void>(used_.get(),
                                       [used = used_, count](const void* /*counter*/) { used->fetch_sub(count); });
  }

 private:
  const int64_t most_;
  // Atomic: counted without a lock.
  const std::shared_ptr<std::atomic<int64_t>> used_ = std::make_shared<std::atomic<int64_t>>(0);
};

}  // namespace waggle
