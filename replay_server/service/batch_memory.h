#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "replay_server/service/quota.h"

namespace waggle {

// The memory of a server's sampled batches, of all its streams: large blocks are kept when they have been sent, for
// later batches of the same size. Given back to malloc, they go back to the system in part, and then each page of the
// next batch costs a fault: with items of 40 kB, half of the time that it takes to gather them. Thread-safe; the blocks
// may outlive it.
class BatchMemory {
 public:
  // Keeps at most `max_kept_bytes` that are not in use, and lets rows of `max_lent_bytes` be sent from where they lie.
  explicit BatchMemory(size_t max_kept_bytes, size_t max_lent_bytes = 0);
  ~BatchMemory();

  // A block of uninitialised bytes aligned to 64, which comes back when its last owner lets it go.
  std::shared_ptr<char> Take(size_t bytes);

  // For a batch that keeps so many bytes of a table's memory from being freed until it is sent: something to be held
  // that long, or null if there would be too many, and the batch is to be copied. A sampler that does not read must not
  // keep alive what its table has long removed.
  std::shared_ptr<const void> TryLend(int64_t bytes) { return lent_bytes_.TryTake(bytes); }

 private:
  class Shelf;
  const std::shared_ptr<Shelf> shelf_;
  const Quota lent_bytes_;
};

}  // namespace waggle
