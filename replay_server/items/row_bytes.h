#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "replay_server/base/memory_account.h"
#include "replay_server/items/item_slots.h"

namespace waggle {

// The memory that the rows of a table's items take: of the blocks that these lie in, each counted once and whole,
// because a block is one allocation, and of the items' longer lists of chunks. Rows that are on disk are counted as
// well. Not thread-safe.
class RowBytes {
 public:
  // `memory` may be shared with other tables, or null. With a memory_limit, only what may be in memory counts there.
  RowBytes(std::shared_ptr<MemoryAccount> memory, int64_t memory_limit)
      : memory_limit_(memory_limit), in_memory_(std::move(memory)) {}

  // The slot's item was inserted, and is removed.
  void Pin(const ItemSlots& items, uint32_t slot);
  void Unpin(const ItemSlots& items, uint32_t slot);
  void SetMemoryLimit(int64_t memory_limit);

  int64_t bytes() const { return bytes_; }
  // True if the table has more bytes than that, or if all tables have more than they may and all of this table's bytes
  // are in memory: a table with rows past its memory_limit would free none by removing items.
  bool AreShort(int64_t max_bytes) const {
    const MemoryAccount* const all = memory();
    return bytes_ > max_bytes || (all != nullptr && all->over() && in_memory_.bytes() == bytes_);
  }
  const MemoryAccount* memory() const { return in_memory_.account(); }

 private:
  void Add(int64_t bytes, int64_t tiered);

  int64_t memory_limit_;
  int64_t bytes_ = 0;
  int64_t tiered_ = 0;  // The part of bytes_ that may be on disk.
  MemoryAccount::Hold in_memory_;
};

}  // namespace waggle
