#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "replay_server/base/memory_use.h"
#include "replay_server/items/item_slots.h"

namespace waggle {

// The memory that the rows of a table's items take: of the blocks that these lie in, each counted once and whole,
// because a block is one allocation, and of the items' longer lists of chunks. Rows that are on disk are counted as
// well. Not thread-safe.
class RowBytes {
 public:
  // `memory` may be shared with other tables, or null. With a memory_limit, only what may be in memory counts there.
  RowBytes(std::shared_ptr<MemoryUse> memory, int64_t memory_limit)
      : memory_(std::move(memory)), memory_limit_(memory_limit) {}
  ~RowBytes() { Add(-bytes_, -tiered_); }
  RowBytes(const RowBytes&) = delete;
  RowBytes& operator=(const RowBytes&) = delete;

  // The slot's item has come; it leaves.
  void Pin(const ItemSlots& items, uint32_t slot);
  void Unpin(const ItemSlots& items, uint32_t slot);
  void SetMemoryLimit(int64_t memory_limit);

  int64_t bytes() const { return bytes_; }
  // Whether the table has more than that, or all tables have more than they may and this one has some to give.
  bool AreShort(int64_t max_bytes) const;
  const MemoryUse* memory() const { return memory_.get(); }

 private:
  void Add(int64_t bytes, int64_t tiered);
  // How many may be in memory.
  int64_t InMemory() const;
  void Count();

  const std::shared_ptr<MemoryUse> memory_;
  int64_t memory_limit_;
  int64_t bytes_ = 0;
  int64_t tiered_ = 0;   // Of these, what may be on disk.
  int64_t counted_ = 0;  // In memory_.
};

}  // namespace waggle
