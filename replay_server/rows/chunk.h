#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "replay_server/rows/block_ledger.h"
#include "replay_server/rows/row_layout.h"

namespace waggle {

class ChunkRef;
struct ChunkBlock;
struct DurableBlock;
struct NewBlock;
struct TieredRows;

// Consecutive rows of one stream. Immutable, shared by reference count. The chunks of one block share one allocation,
// which is freed with the last of them. If the block has a tier (chunk_tier.h), its rows are a second allocation, which
// may be on disk instead: they can be read only while they are pinned (pinned_rows.h).
class Chunk {
 public:
  uint32_t rows() const { return rows_; }
  // The size of the block's whole allocation, which each of its chunks keeps alive.
  int64_t block_bytes() const;
  // The writer of the rows; empty if unknown.
  const std::string& producer() const;

  // One row of one plain column; the column's next row follows it. `layout` must be that of the chunk's signature. The
  // caller passes it because the chunk's own is rarely in the cache.
  const char* Row(const RowLayout& layout, size_t column, size_t row) const {
    return data() + layout.column_start[column] * block_rows_ + (first_row_ + row) * layout.column_bytes[column];
  }

  // All rows of a compressed column. They are stored uncompressed if they have their uncompressed size.
  absl::Span<const char> Piece(const RowLayout& layout, size_t column) const;

  // The references of holder `holder` to chunks of this block. The writer's tables are holders 0, 1, …; its session is
  // the last. Guarded by the holder's lock. Each holder counts the block's bytes once: one reference keeps them all.
  uint64_t* pins(size_t holder) const;

  // Null if its block has no ledger.
  DurableBlock* durable() const;
  // The chunk's index in its durable block.
  uint32_t index() const;

  // Null if its block has no tier: the rows are always in memory.
  TieredRows* tiered() const;

 private:
  friend class ChunkRef;
  friend NewBlock MakeBlock(std::shared_ptr<const RowLayout> layout, absl::Span<const uint32_t> rows, size_t holders,
                            absl::Span<const uint32_t> piece_bytes, BlockHome home, uint64_t id, bool cold);
  friend void SetBlockRows(ChunkBlock* block, const char* data);
  Chunk(ChunkBlock* block, const char* data, size_t block_rows, size_t first_row, size_t rows)
      : block_(block),
        data_(data),
        block_rows_(static_cast<uint32_t>(block_rows)),
        first_row_(static_cast<uint32_t>(first_row)),
        rows_(static_cast<uint32_t>(rows)) {}
  void Unref();
  // Relaxed: readers of a tier's rows have pinned them before, under the tier's lock.
  const char* data() const { return data_.load(std::memory_order_relaxed); }

  ChunkBlock* const block_;
  std::atomic<const char*> data_;  // The block's rows; null while they are not in memory.
  const uint32_t block_rows_;      // Rows of all chunks of the block.
  const uint32_t first_row_;       // Index in the block.
  const uint32_t rows_;
  std::atomic<uint32_t> references_{0};
};

// A counted reference to a chunk, or null. Threads may use copies of one reference.
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

  // Converts the reference to a bare pointer, and back.
  Chunk* Release() { return std::exchange(chunk_, nullptr); }
  static ChunkRef Adopt(Chunk* chunk) {
    ChunkRef adopted;
    adopted.chunk_ = chunk;
    return adopted;
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

// Keeps a block alive. The caller must hold a reference to the block or to one of its chunks.
void HoldBlock(ChunkBlock* block);
// The same without a reference. False if the block is about to be freed.
bool TryHoldBlock(ChunkBlock* block);
void ReleaseBlock(ChunkBlock* block);
// Sets the address of the rows of all its chunks. The caller holds the lock of its tier.
void SetBlockRows(ChunkBlock* block, const char* data);

// Data of a block that may be written to disk.
struct DurableBlock {
  BlockHome home;
  uint64_t id = 0;  // Id in its ledger.
  // True if the journal has written it, or writes it next. The journal's thread sets it while it has a reference. Read
  // by that thread, and when no reference is left.
  bool stored = false;
  // True if the database has its record, written by the journal or by the tier.
  std::atomic<bool> committed{false};
  uint32_t holders = 0;
  absl::Span<const Chunk> chunks;
  absl::Span<const uint64_t> piece_ends;
  const char* data = nullptr;  // The rows; null if the block has a tier.
  size_t bytes = 0;            // Size of the rows.
};

// Releases the maker's pin of a block with a tier. From then on its rows may go to disk.
struct EndMaking {
  void operator()(ChunkBlock* block) const;
};

// Uninitialised memory for a block's chunks. The maker must fill it before it shares the chunks or destroys this.
struct NewBlock {
  std::vector<ChunkRef> chunks;
  // The plain columns of all rows as `layout` says for the sum of `rows`, then the pieces in order of `piece_bytes`.
  char* data = nullptr;
  size_t bytes = 0;                                         // Size of `data`.
  std::unique_ptr<ChunkBlock, EndMaking> making = nullptr;  // Null if the block has no tier.
};

// Chunk i has `rows[i]` rows and follows chunk i - 1; the sum must be below 2^32. `holders` is the number of holders of
// pins. `piece_bytes` has the size of each piece: by compressed column, then by chunk. `id` is given for a block that
// was read from disk; 0 takes a new id from the ledger of `home`, if it has one.
NewBlock MakeChunks(std::shared_ptr<const RowLayout> layout, absl::Span<const uint32_t> rows, size_t holders,
                    absl::Span<const uint32_t> piece_bytes = {}, BlockHome home = {}, uint64_t id = 0);
// The same for block `id` of a home with a ledger and a tier. Its rows stay on disk until they are pinned.
std::vector<ChunkRef> MakeColdChunks(std::shared_ptr<const RowLayout> layout, absl::Span<const uint32_t> rows,
                                     size_t holders, absl::Span<const uint32_t> piece_bytes, BlockHome home,
                                     uint64_t id);

}  // namespace waggle
