#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "replay_server/table/row_layout.h"

namespace waggle {

class ChunkRef;
struct ChunkBlock;
struct NewBlock;

// Consecutive rows of one stream; immutable and shared by reference count. The chunks that arrive in one block share
// one allocation, which is freed when the last of them is.
class Chunk {
 public:
  uint32_t rows() const { return rows_; }
  // Of its rows.
  size_t bytes() const;

  // The bytes of one row of one column; the column's next row lies right behind it. `layout` is that of the chunk's
  // signature: the caller has it at hand, while the chunk's own lies in memory that is far from the cache.
  const char* Row(const RowLayout& layout, size_t column, size_t row) const {
    return data_ + layout.column_start[column] * block_rows_ + (first_row_ + row) * layout.column_bytes[column];
  }

  // How many references the items of the writer's table number `table` hold. Guarded by that table's lock: a table
  // counts a chunk's bytes once, however many of its items share it.
  uint32_t* pins(size_t table);

 private:
  friend class ChunkRef;
  friend NewBlock MakeChunks(std::shared_ptr<const RowLayout> layout, absl::Span<const uint32_t> rows, size_t tables);
  Chunk(ChunkBlock* block, const char* data, size_t block_rows, size_t index, size_t first_row, size_t rows)
      : block_(block),
        data_(data),
        block_rows_(static_cast<uint32_t>(block_rows)),
        index_(static_cast<uint32_t>(index)),
        first_row_(static_cast<uint32_t>(first_row)),
        rows_(static_cast<uint32_t>(rows)) {}
  void Unref();

  ChunkBlock* const block_;
  const char* const data_;     // The block's rows.
  const uint32_t block_rows_;  // Of all chunks.
  const uint32_t index_;       // In the block.
  const uint32_t first_row_;   // In the block.
  const uint32_t rows_;
  std::atomic<uint32_t> references_{0};
};

// One counted reference to a chunk, or none. Copies of one reference may be used by different threads.
class ChunkRef {
 public:
  ChunkRef() = default;
  explicit ChunkRef(Chunk* chunk) : chunk_(chunk) { Ref(); }
  ChunkRef(const ChunkRef& other) : chunk_(other.chunk_) { Ref(); }
  ChunkRef(ChunkRef&& other) noexcept : chunk_(std::exchange(other.chunk_, nullptr)) {}
  ChunkRef& operator=(ChunkRef other) noexcept {
    std::swap(chunk_, other.chunk_);
    return *this;
  }
  ~ChunkRef() {
    if (chunk_ != nullptr) {
      chunk_->Unref();
    }
  }

  Chunk* get() const { return chunk_; }
  Chunk* operator->() const { return chunk_; }
  Chunk& operator*() const { return *chunk_; }

 private:
  void Ref() {
    if (chunk_ != nullptr) {
      chunk_->references_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  Chunk* chunk_ = nullptr;
};

// Uninitialised memory for the chunks of one block, to be filled by its maker before anyone else sees it.
struct NewBlock {
  std::vector<ChunkRef> chunks;
  char* data = nullptr;  // Column after column of all rows, as `layout` says for the sum of `rows`.
};

// Chunk i has `rows[i]` rows, behind those of the chunks before; the sum is below 2^32. `tables` is how many tables its
// items may be in.
NewBlock MakeChunks(std::shared_ptr<const RowLayout> layout, absl::Span<const uint32_t> rows, size_t tables);

}  // namespace waggle
