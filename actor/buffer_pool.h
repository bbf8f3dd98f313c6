#pragma once

#include <cstddef>
#include <memory>

namespace waggle {

// Hands out buffers of one size and takes them back when their last owner lets go, so that large blocks need no fresh
// pages from the system each time. Thread-safe: owners may let go on any thread, and after the pool is gone.
class BufferPool {
 public:
  // Keeps up to `max_free` buffers that nobody uses.
  BufferPool(size_t buffer_bytes, size_t max_free);

  // A buffer with unspecified contents, aligned to 64.
  std::shared_ptr<char> Take();

  size_t buffer_bytes() const { return buffer_bytes_; }

 private:
  struct FreeList;

  const size_t buffer_bytes_;
  const std::shared_ptr<FreeList> free_;  // Shared with the buffers in use, which outlive the pool.
};

}  // namespace waggle
