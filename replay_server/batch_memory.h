#pragma once

#include <cstddef>
#include <memory>

namespace waggle {

// The memory of a server's sampled batches, of all its streams: large blocks are kept when they have been sent, for
// later batches of the same size. Given back to malloc, they go back to the system in part, and then each page of the
// next batch costs a fault: with items of 40 kB, half of the time that it takes to gather them. Thread-safe; the blocks
// may outlive it.
class BatchMemory {
 public:
  // Keeps at most so many bytes that are not in use.
  explicit BatchMemory(size_t max_kept_bytes);
  ~BatchMemory();

  // A block of uninitialised bytes aligned to 64, which comes back when its last owner lets it go.
  std::shared_ptr<char> Take(size_t bytes);

 private:
  class Shelf;
  const std::shared_ptr<Shelf> shelf_;
};

}  // namespace waggle
