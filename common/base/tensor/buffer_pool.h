#pragma once

#include <cstddef>
#include <memory>

namespace waggle {

// Hands out blocks of bytes of one size and takes them back for the next: a fresh large block costs a page fault for
// each of its pages. Thread-safe; the blocks may outlive the pool.
class BufferPool {
 public:
  // Keeps at most `max_kept` blocks that are not in use.
  BufferPool(size_t block_bytes, size_t max_kept);
  ~BufferPool();

  // A block of uninitialised bytes aligned to 64, which comes back when its last owner releases it.
  std::shared_ptr<char> Take();

 private:
  class Shelf;
  const size_t block_bytes_;
  const std::shared_ptr<Shelf> shelf_;
};

}  // namespace waggle
