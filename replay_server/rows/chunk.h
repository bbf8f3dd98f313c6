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

// Consecutive rows of one stream; immutable and shared by reference count. The chunks that arrive in one block share
// one allocation, which is freed when the last of them is. Where the block has a tier (chunk_tier.h), its rows are an
// allocation of their own that may be on disk instead: they may be read only while they are pinned (pinned_rows.h).
class Chunk {
 public:
  uint32_t rows() const { return rows_; }
  // Of the whole allocation that it keeps alive, which it shares with the other chunks of its block.
  int64_t block_bytes() const;
  // The writer that it came from; empty where that is not known.
  const std::string& producer() const;

  // The bytes of one row of one plain column; the column's next row lies right behind it. `layout` is that of the
  // chunk's signature: the caller has it at hand, while the chunk's own lies in memory that is far from the cache.
  const char* Row(const RowLayout& layout, size_t column, size_t row) const {
    return data() + layout.column_start[column] * block_rows_ + (first_row_ + row) * layout.column_bytes[column];
  }

  // All rows of a compressed column. As many bytes as the rows have means that they are not compressed.
  absl::Span<const char> Piece(const RowLayout& layout, size_t column) const;

  // How many references to chunks of this block holder number `holder` has: the writer's tables are holders 0, 1, …,
  // and its session comes after them. Guarded by that holder's lock: each counts the block's bytes once, however many
  // of its chunks it refers to, because one reference keeps all of them.
  uint64_t* pins(size_t holder) const;

  // Null if its block has no ledger.
  DurableBlock* durable() const;
  // Its number among the chunks of such a block.
  uint32_t index() const;

  // Null if its block has no tier, and so is always in memory.
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
  // Relaxed: who reads the rows of a block with a tier has pinned them before, under its lock.
  const char* data() const { return data_.load(std::memory_order_relaxed); }

  ChunkBlock* const block_;
  std::atomic<const char*> data_;  // The block's rows; null while they are not in memory.
  const uint32_t block_rows_;      // Of all chunks.
  const uint32_t first_row_;       // In the block.
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

  // Hands the reference over to a bare pointer, and takes it back from one.
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

// Keeps a block alive, whatever becomes of its chunks. Who has a reference to the block, or to one of its chunks, may
// take one.
void HoldBlock(ChunkBlock* block);
// The same for who knows of a block that may be about to be freed: false if it is.
bool TryHoldBlock(ChunkBlock* block);
void ReleaseBlock(ChunkBlock* block);
// Where the rows of all its chunks are from now on. Under the lock of its tier.
void SetBlockRows(ChunkBlock* block, const char* data);

// What is known of a block that may be written to disk.
struct DurableBlock {
  BlockHome home;
  uint64_t id = 0;  // In its ledger.
  // The journal has written it, or it goes with what the journal writes next. Set by the journal's thread, while it has
  // a reference; read by that thread, and when there is none left.
  bool stored = false;
  // Its record is in the database, whoever has written it: the journal, or the tier ahead of it.
  std::atomic<bool> committed{false};
  uint32_t holders = 0;
  absl::Span<const Chunk> chunks;
  absl::Span<const uint64_t> piece_ends;
  const char* data = nullptr;  // The rows; null where the block has a tier.
  size_t bytes = 0;            // Theirs.
};

// Ends the making of a block that has a tier: from then on its rows may go to disk.
struct EndMaking {
  void operator()(ChunkBlock* block) const;
};

// Uninitialised memory for the chunks of one block, to be filled by its maker before anyone else sees it, and before
// this is destroyed.
struct NewBlock {
  std::vector<ChunkRef> chunks;
  // The plain columns, one after the other, of all rows, as `layout` says for the sum of `rows`; then the pieces, in
  // the order of `piece_bytes`.
  char* data = nullptr;
  size_t bytes = 0;                                         // Of all that.
  std::unique_ptr<ChunkBlock, EndMaking> making = nullptr;  // Null where it has no tier.
};

// Chunk i has `rows[i]` rows, behind those of the chunks before; the sum is below 2^32. `holders` is how many count
// their pins. `piece_bytes` are those of each compressed column, and then of each chunk. `id` is given for a block that
// was read from disk; otherwise its home's ledger, where it has one, gives it a new one.
NewBlock MakeChunks(std::shared_ptr<const RowLayout> layout, absl::Span<const uint32_t> rows, size_t holders,
                    absl::Span<const uint32_t> piece_bytes = {}, BlockHome home = {}, uint64_t id = 0);
// The same for a block of a home with a ledger and a tier that is on disk, by this number, and stays there until
// somebody pins it.
std::vector<ChunkRef> MakeColdChunks(std::shared_ptr<const RowLayout> layout, absl::Span<const uint32_t> rows,
                                     size_t holders, absl::Span<const uint32_t> piece_bytes, BlockHome home,
                                     uint64_t id);

}  // namespace waggle
