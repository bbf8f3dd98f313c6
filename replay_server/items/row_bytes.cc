#include "replay_server/items/row_bytes.h"

#include <algorithm>

#include "replay_server/rows/chunk.h"

namespace waggle {
namespace {

struct Bytes {
  int64_t all = 0;
  int64_t tiered = 0;
};

// The bytes of a slot's longer list of chunks, and of the blocks whose pins `counts` returns true for.
template <class Counts>
Bytes BytesOf(const ItemSlots& items, uint32_t slot, const Counts& counts) {
  constexpr size_t kShortList = 2;
  Bytes bytes;
  const uint16_t pins = items.pins(slot);
  const size_t chunks = items.VisitChunks(slot, [&](const Chunk& chunk) {
    if (counts(chunk.pins(pins))) {
      bytes.all += chunk.block_bytes();
      bytes.tiered += chunk.tiered() != nullptr ? chunk.block_bytes() : 0;
    }
  });
  bytes.all += chunks > kShortList ? static_cast<int64_t>(chunks * sizeof(ChunkRef)) : 0;
  return bytes;
}

}  // namespace

void RowBytes::Add(int64_t bytes, int64_t tiered) {
  bytes_ += bytes;
  tiered_ += tiered;
  in_memory_.Set(bytes_ - tiered_ + std::min(tiered_, memory_limit_));
}

void RowBytes::SetMemoryLimit(int64_t memory_limit) {
  memory_limit_ = memory_limit;
  Add(0, 0);
}

void RowBytes::Pin(const ItemSlots& items, uint32_t slot) {
  const Bytes bytes = BytesOf(items, slot, [](uint64_t* pins) { return (*pins)++ == 0; });
  Add(bytes.all, bytes.tiered);
}

void RowBytes::Unpin(const ItemSlots& items, uint32_t slot) {
  const Bytes bytes = BytesOf(items, slot, [](uint64_t* pins) { return --*pins == 0; });
  Add(-bytes.all, -bytes.tiered);
}

}  // namespace waggle
