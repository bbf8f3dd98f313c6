#include "replay_server/items/row_bytes.h"

#include <algorithm>

#include "replay_server/rows/chunk.h"

namespace waggle {
namespace {

// Of a longer list of chunks.
int64_t ListBytes(size_t chunks) {
  constexpr size_t kFew = 2;
  return chunks > kFew ? static_cast<int64_t>(chunks * sizeof(ChunkRef)) : 0;
}

}  // namespace

void RowBytes::Add(int64_t bytes, int64_t tiered) {
  bytes_ += bytes;
  tiered_ += tiered;
  Count();
}

int64_t RowBytes::InMemory() const {
  return bytes_ - tiered_ + std::min(tiered_, memory_limit_);
}

void RowBytes::Count() {
  const int64_t now = InMemory();
  if (memory_ != nullptr && now != counted_) {
    memory_->Add(now - counted_);
  }
  counted_ = now;
}

void RowBytes::SetMemoryLimit(int64_t memory_limit) {
  memory_limit_ = memory_limit;
  Count();
}

void RowBytes::Pin(const ItemSlots& items, uint32_t slot) {
  int64_t bytes = 0;
  int64_t tiered = 0;
  const uint16_t pins = items.pins(slot);
  const size_t chunks = items.VisitChunks(slot, [&](const Chunk& chunk) {
    if ((*chunk.pins(pins))++ == 0) {
      bytes += chunk.block_bytes();
      tiered += chunk.tiered() != nullptr ? chunk.block_bytes() : 0;
    }
  });
  Add(bytes + ListBytes(chunks), tiered);
}

void RowBytes::Unpin(const ItemSlots& items, uint32_t slot) {
  int64_t bytes = 0;
  int64_t tiered = 0;
  const uint16_t pins = items.pins(slot);
  const size_t chunks = items.VisitChunks(slot, [&](const Chunk& chunk) {
    if (--(*chunk.pins(pins)) == 0) {
      bytes += chunk.block_bytes();
      tiered += chunk.tiered() != nullptr ? chunk.block_bytes() : 0;
    }
  });
  Add(-bytes - ListBytes(chunks), -tiered);
}

bool RowBytes::AreShort(int64_t max_bytes) const {
  // A table that has more than may be in memory has none to give.
  return bytes_ > max_bytes || (memory_ != nullptr && memory_->over() && InMemory() == bytes_);
}

}  // namespace waggle
