#pragma once

#include <atomic>
#include <cstdint>

namespace waggle {

// What all tables of a server have in memory together, and how much they may have. Thread-safe.
class MemoryUse {
 public:
  explicit MemoryUse(int64_t limit) : limit_(limit) {}

  void Add(int64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  bool over() const { return bytes() > limit_; }
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  int64_t limit() const { return limit_; }

 private:
  const int64_t limit_;
  std::atomic<int64_t> bytes_{0};
};

}  // namespace waggle
