#include "replay_server/rows/chunk.h"

#include <cstring>
#include <new>

#include "replay_server/rows/chunk_tier.h"

namespace waggle {

// The head of a block's allocation, before its chunks, pins, ends of pieces and rows. Rows of a tier are elsewhere.
struct ChunkBlock {
  std::shared_ptr<const RowLayout> layout;
  std::atomic<uint32_t> live_chunks{0};  // Plus other references to the block.
  size_t bytes = 0;                      // Size of the allocation and of rows outside it.
  uint64_t* pins = nullptr;
  Chunk* chunks = nullptr;
  size_t chunk_count = 0;
  size_t plain_bytes = 0;          // Size of the plain columns, which precede the pieces.
  uint64_t* piece_ends = nullptr;  // Offsets from the first piece, by compressed column and then by chunk.
  std::unique_ptr<DurableBlock> durable;
  std::unique_ptr<TieredRows> tiered;
};

namespace {

constexpr size_t kAlignment = 64;

size_t RoundUp(size_t bytes, size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

void FreeBlock(ChunkBlock* block) {
  if (block->tiered != nullptr) {
    block->tiered->tier->Remove(block->tiered.get());
  }
  if (const DurableBlock* durable = block->durable.get(); durable != nullptr && durable->stored) {
    durable->home.ledger->Add(durable->id, durable->home.checkpointed);
  }
  block->~ChunkBlock();
  ::operator delete (block, std::align_val_t{kAlignment});
}

}  // namespace

int64_t Chunk::block_bytes() const {
  return static_cast<int64_t>(block_->bytes);
}

absl::Span<const char> Chunk::Piece(const RowLayout& layout, size_t column) const {
  const auto chunk = static_cast<size_t>(this - block_->chunks);
  const size_t piece = layout.compressed_index[column] * block_->chunk_count + chunk;
  const uint64_t begin = piece == 0 ? 0 : block_->piece_ends[piece - 1];
  return {data() + block_->plain_bytes + begin, block_->piece_ends[piece] - begin};
}

const std::string& Chunk::producer() const {
  return block_->layout->producer;
}

uint64_t* Chunk::pins(size_t holder) const {
  return block_->pins + holder;
}

DurableBlock* Chunk::durable() const {
  return block_->durable.get();
}

uint32_t Chunk::index() const {
  return static_cast<uint32_t>(this - block_->durable->chunks.data());
}

TieredRows* Chunk::tiered() const {
  return block_->tiered.get();
}

void Chunk::Unref() {
  // Release, then acquire: the thread that frees the memory sees all earlier uses.
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    ReleaseBlock(block_);
  }
}

void HoldBlock(ChunkBlock* block) {
  block->live_chunks.fetch_add(1, std::memory_order_relaxed);
}

bool TryHoldBlock(ChunkBlock* block) {
  uint32_t live = block->live_chunks.load(std::memory_order_relaxed);
  while (live != 0 && !block->live_chunks.compare_exchange_weak(live, live + 1, std::memory_order_relaxed)) {
  }
  return live != 0;
}

void ReleaseBlock(ChunkBlock* block) {
  if (block->live_chunks.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    FreeBlock(block);
  }
}

void SetBlockRows(ChunkBlock* block, const char* data) {
  for (size_t i = 0; i < block->chunk_count; ++i) {
    block->chunks[i].data_.store(data, std::memory_order_relaxed);
  }
}

void EndMaking::operator()(ChunkBlock* block) const {
  block->tiered->tier->EndMaking(block->tiered.get());
  ReleaseBlock(block);
}

NewBlock MakeBlock(std::shared_ptr<const RowLayout> layout, absl::Span<const uint32_t> rows, size_t holders,
                   absl::Span<const uint32_t> piece_bytes, BlockHome home, uint64_t id, bool cold) {
  size_t total_rows = 0;
  for (const uint32_t count : rows) {
    total_rows += count;
  }
  const size_t pins_at = RoundUp(sizeof(ChunkBlock), alignof(uint64_t));
  const size_t chunks_at = RoundUp(pins_at + holders * sizeof(uint64_t), alignof(Chunk));
  const size_t ends_at = RoundUp(chunks_at + rows.size() * sizeof(Chunk), alignof(uint64_t));
  const size_t data_at = RoundUp(ends_at + piece_bytes.size() * sizeof(uint64_t), kAlignment);
  const size_t plain_bytes = total_rows * layout->plain_row_bytes;
  NewBlock made;
  made.bytes = plain_bytes;
  for (const uint32_t piece : piece_bytes) {
    made.bytes += piece;
  }
  if (rows.empty()) {
    return made;
  }
  const bool tiered = home.tier != nullptr && made.bytes > 0;
  char* memory = static_cast<char*>(::operator new (data_at + (tiered ? 0 : made.bytes), std::align_val_t{kAlignment}));
  if (!tiered) {
    made.data = memory + data_at;
  } else if (!cold) {
    made.data = AllocateRows(made.bytes);
  }
  auto* block = new (memory) ChunkBlock;
  block->layout = std::move(layout);
  block->bytes = data_at + made.bytes;
  block->pins = reinterpret_cast<uint64_t*>(memory + pins_at);
  block->live_chunks.store(static_cast<uint32_t>(rows.size()), std::memory_order_relaxed);
  const std::shared_ptr<ChunkTier> tier = tiered ? home.tier : nullptr;
  if (home.ledger != nullptr) {
    block->durable = std::make_unique<DurableBlock>();
    DurableBlock& durable = *block->durable;
    durable.stored = id != 0;
    durable.committed = id != 0;
    durable.id = id != 0 ? id : home.ledger->NewId(tiered);
    durable.home = std::move(home);
    durable.holders = static_cast<uint32_t>(holders);
    durable.chunks = absl::MakeConstSpan(reinterpret_cast<const Chunk*>(memory + chunks_at), rows.size());
    durable.piece_ends = {reinterpret_cast<const uint64_t*>(memory + ends_at), piece_bytes.size()};
    durable.data = tiered ? nullptr : made.data;
    durable.bytes = made.bytes;
  }
  std::memset(block->pins, 0, holders * sizeof(uint64_t));
  block->chunks = reinterpret_cast<Chunk*>(memory + chunks_at);
  block->chunk_count = rows.size();
  block->plain_bytes = plain_bytes;
  block->piece_ends = reinterpret_cast<uint64_t*>(memory + ends_at);
  uint64_t end = 0;
  for (size_t i = 0; i < piece_bytes.size(); ++i) {
    end += piece_bytes[i];
    block->piece_ends[i] = end;
  }

  made.chunks.reserve(rows.size());
  size_t first_row = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    Chunk* chunk = new (memory + chunks_at + i * sizeof(Chunk)) Chunk(block, made.data, total_rows, first_row, rows[i]);
    made.chunks.emplace_back(chunk);
    first_row += rows[i];
  }
  if (tiered) {
    block->tiered = std::make_unique<TieredRows>(tier, block, block->durable.get(), made.bytes);
    if (cold) {
      tier->AddCold(block->tiered.get());
    } else {
      HoldBlock(block);
      made.making.reset(block);
      tier->Add(block->tiered.get(), made.data);
    }
  }
  return made;
}

NewBlock MakeChunks(std::shared_ptr<const RowLayout> layout, absl::Span<const uint32_t> rows, size_t holders,
                    absl::Span<const uint32_t> piece_bytes, BlockHome home, uint64_t id) {
  return MakeBlock(std::move(layout), rows, holders, piece_bytes, std::move(home), id, /*cold=*/false);
}

std::vector<ChunkRef> MakeColdChunks(std::shared_ptr<const RowLayout> layout, absl::Span<const uint32_t> rows,
                                     size_t holders, absl::Span<const uint32_t> piece_bytes, BlockHome home,
                                     uint64_t id) {
  return MakeBlock(std::move(layout), rows, holders, piece_bytes, std::move(home), id, /*cold=*/true).chunks;
}

}  // namespace waggle
