#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace waggle {

// What the newest rows of all writers of a server, which are held for windows to come, take beside its tables, and how
// much they may. Rows that items have too are counted here all the same: those may leave at any time. Thread-safe.
class WriterMemory {
 public:
  explicit WriterMemory(int64_t limit = std::numeric_limits<int64_t>::max()) : limit_(limit) {}

  // A writer needs so many bytes more, at the least. False, with nothing counted, where all together would need more
  // than the limit.
  bool TryNeed(int64_t bytes) {
    for (int64_t needed = this->needed(); needed <= limit_ - bytes;) {
      if (needed_.compare_exchange_weak(needed, needed + bytes, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  // So many bytes more, or fewer, whether or not there is room for them.
  void Need(int64_t bytes) { needed_.fetch_add(bytes, std::memory_order_relaxed); }
  // The same of what is kept alive: rows come in blocks, which are larger than what is needed of them.
  void Hold(int64_t bytes) { held_.fetch_add(bytes, std::memory_order_relaxed); }

  // Whether writers ought to copy the rows that they need out of their blocks, small as these may be.
  bool tight() const { return held() > limit_; }
  int64_t needed() const { return needed_.load(std::memory_order_relaxed); }
  int64_t held() const { return held_.load(std::memory_order_relaxed); }
  int64_t limit() const { return limit_; }

 private:
  const int64_t limit_;
  std::atomic<int64_t> needed_{0};
  std::atomic<int64_t> held_{0};
};

}  // namespace waggle
