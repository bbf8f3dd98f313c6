#include "replay_server/table/chunk.h"

#include <cstring>
#include <new>

namespace waggle {

// The head of a block's allocation; behind it lie its chunks, their pins and the rows.
struct ChunkBlock {
  std::shared_ptr<const RowLayout> layout;
  std::atomic<uint32_t> live_chunks{0};
  size_t tables = 0;
  uint32_t* pins = nullptr;
};

namespace {

constexpr size_t kAlignment = 64;

size_t RoundUp(size_t bytes, size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

size_t Chunk::bytes() const {
  return rows_ * block_->layout->row_bytes;
}

uint32_t* Chunk::pins(size_t table) {
  return block_->pins + index_ * block_->tables + table;
}

void Chunk::Unref() {
  // Release, then acquire: whoever frees the memory sees everything that others did with it.
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  ChunkBlock* block = block_;
  if (block->live_chunks.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    block->~ChunkBlock();
    ::operator delete (block, std::align_val_t{kAlignment});
  }
}

NewBlock MakeChunks(std::shared_ptr<const RowLayout> layout, absl::Span<const uint32_t> rows, size_t tables) {
  size_t total_rows = 0;
  for (const uint32_t count : rows) {
    total_rows += count;
  }
  const size_t chunks_at = RoundUp(sizeof(ChunkBlock), alignof(Chunk));
  const size_t pins_at = chunks_at + rows.size() * sizeof(Chunk);
  const size_t data_at = RoundUp(pins_at + rows.size() * tables * sizeof(uint32_t), kAlignment);
  NewBlock made;
  if (rows.empty()) {
    return made;
  }
  char* memory =
      static_cast<char*>(::operator new (data_at + total_rows * layout->row_bytes, std::align_val_t{kAlignment}));
  auto* block = new (memory) ChunkBlock;
  block->layout = std::move(layout);
  block->tables = tables;
  block->pins = reinterpret_cast<uint32_t*>(memory + pins_at);
  block->live_chunks.store(static_cast<uint32_t>(rows.size()), std::memory_order_relaxed);
  std::memset(block->pins, 0, rows.size() * tables * sizeof(uint32_t));

  made.data = memory + data_at;
  made.chunks.reserve(rows.size());
  size_t first_row = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    Chunk* chunk =
        new (memory + chunks_at + i * sizeof(Chunk)) Chunk(block, made.data, total_rows, i, first_row, rows[i]);
    made.chunks.emplace_back(chunk);
    first_row += rows[i];
  }
  return made;
}

}  // namespace waggle
