#include "replay_server/store/table_exporter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/replay/blocks/block_compression.h"
#include "replay_server/batches/pinned_rows.h"
#include "replay_server/rows/row_source.h"

namespace waggle {
namespace {

// Slots or items that are read under one lock of the table.
constexpr size_t kStep = 4096;
constexpr size_t kItemsAtATime = 64;

}  // namespace

struct TableExporter::Block {
  InsertBlock block;
  std::vector<ChunkRef> chunks;  // Parallel to block.chunks.
  int64_t bytes = 0;
};

TableExporter::TableExporter(std::shared_ptr<Table> table, TableExporterOptions options)
    : table_(std::move(table)),
      options_(options),
      rows_(table_->created().signature, ColumnCodecs(table_->created().signature, table_->created().compression)) {}

void TableExporter::Prepare() {
  for (uint32_t slot = 0; table_->ListItems(slot, kStep, &order_); slot += kStep) {
  }
  // Generations are in order of insertion.
  std::sort(order_.begin(), order_.end(),
            [](const Table::ItemAddress& a, const Table::ItemAddress& b) { return a.generation < b.generation; });
}

absl::StatusOr<std::optional<InsertBlock>> TableExporter::Next() {
  Block block;
  bool full = false;
  while (next_ < order_.size() && !full) {
    const size_t count = std::min(kItemsAtATime, order_.size() - next_);
    const std::vector<SampledItem> items = table_->CopyItems(absl::MakeConstSpan(&order_[next_], count));
    next_ += count;
    for (const SampledItem& item : items) {
      // A block has one policy version. Items that do not fit begin the next block.
      if (!block.block.items.empty() && (full || item.policy_version != block.block.policy_version)) {
        full = true;
        while (order_[--next_].generation != item.generation) {
        }
        break;
      }
      const Place& place = Locate(item.window, &block);
      ItemInfo info;
      info.stream = place.stream;
      info.first_row = place.first_row + item.window.offset + item.window.context;
      info.rows = item.window.rows;
      info.context_rows = item.window.context;
      info.priority = item.priority;
      block.block.items.push_back(info);
      block.block.policy_version = item.policy_version;
      full = block.bytes >= options_.max_block_bytes ||
             static_cast<int64_t>(block.block.items.size()) >= options_.max_block_items;
    }
  }
  if (block.block.items.empty()) {
    return std::optional<InsertBlock>();
  }
  ++blocks_;
  WAGGLE_ASSIGN_OR_RETURN(InsertBlock finished, Finish(std::move(block)));
  return std::make_optional(std::move(finished));
}

const TableExporter::Place* TableExporter::Known(const Chunk& chunk) const {
  const auto found = known_.find(&chunk);
  return found == known_.end() || found->second.segment != streams_[found->second.stream].segment ? nullptr
                                                                                                  : &found->second;
}

const TableExporter::Place& TableExporter::Locate(const Window& window, Block* block) {
  const Place* first = Known(*window.chunks.front());
  size_t known = first != nullptr ? 1 : 0;
  while (first != nullptr && known < window.chunks.size()) {
    const Place* before = Known(*window.chunks[known - 1]);
    const Place* here = Known(*window.chunks[known]);
    if (here == nullptr || here->stream != first->stream ||
        here->first_row != before->first_row + window.chunks[known - 1]->rows()) {
      break;
    }
    ++known;
  }
  if (first != nullptr) {
    const Stream& stream = streams_[first->stream];
    const bool complete = known == window.chunks.size();
    const bool at_the_end = stream.last == window.chunks[known - 1].get();
    // The receiver holds only the newest rows of a stream, besides the present block's.
    const bool held = first->block == blocks_ ||
                      first->first_row + window.offset + static_cast<uint64_t>(table_->max_rows()) >= stream.next_row;
    if (!held || (!complete && !at_the_end)) {
      first = nullptr;
    }
  }
  bool begins = false;
  uint32_t stream = 0;
  if (first == nullptr) {
    known = 0;
    stream = NewStream(&begins);
  } else {
    stream = first->stream;
  }
  for (; known < window.chunks.size(); ++known) {
    Write(window.chunks[known], stream, std::exchange(begins, false), block);
  }
  return *Known(*window.chunks.front());
}

uint32_t TableExporter::NewStream(bool* begins) {
  if (streams_.size() < options_.max_streams) {
    streams_.emplace_back();
    return static_cast<uint32_t>(streams_.size() - 1);
  }
  // Reuses the oldest stream.
  const uint32_t stream = next_stream_;
  next_stream_ = (next_stream_ + 1) % options_.max_streams;
  ++streams_[stream].segment;
  *begins = true;
  return stream;
}

const TableExporter::Place& TableExporter::Write(const ChunkRef& chunk, uint32_t number, bool begins, Block* block) {
  Stream& stream = streams_[number];
  block->block.chunks.push_back({number, stream.next_row, chunk->rows(), begins});
  block->chunks.push_back(chunk);
  block->bytes += static_cast<int64_t>(chunk->rows() * rows_.row_bytes);
  Place& place = known_[chunk.get()];
  if (place.chunk.get() == nullptr) {
    known_order_.push_back(chunk.get());
  }
  place = {chunk, number, stream.segment, stream.next_row, blocks_};
  stream.next_row += chunk->rows();
  stream.last = chunk.get();
  // Never the newest: a window's chunks must be known together.
  while (static_cast<int64_t>(known_order_.size()) > options_.max_known_chunks) {
    const Chunk* oldest = known_order_.front();
    known_order_.pop_front();
    for (Stream& other : streams_) {
      other.last = other.last == oldest ? nullptr : other.last;  // A new chunk may get its address.
    }
    known_.erase(oldest);
  }
  return place;
}

absl::StatusOr<InsertBlock> TableExporter::Finish(Block block) const {
  const std::shared_ptr<char> bytes = AllocateBytes(static_cast<size_t>(block.bytes));
  size_t rows = 0;
  for (const ChunkRef& chunk : block.chunks) {
    rows += chunk->rows();
  }
  // Chunk by chunk, because each may be on disk. Chunks of one block are adjacent.
  RowSource source(rows_);
  PinnedRows pinned;
  size_t row = 0;
  for (size_t i = 0; i < block.chunks.size(); ++i) {
    const Chunk& chunk = *block.chunks[i];
    if (i == 0 || chunk.tiered() != block.chunks[i - 1]->tiered()) {
      WAGGLE_RETURN_IF_ERROR(pinned.Pin(chunk));
    }
    char* out = bytes.get();
    for (size_t column = 0; column < rows_.signature.size(); ++column) {
      const size_t row_bytes = rows_.column_bytes[column];
      std::memcpy(out + row * row_bytes, source.Row(chunk, column, 0), chunk.rows() * row_bytes);
      out += rows * row_bytes;
    }
    row += chunk.rows();
  }
  WAGGLE_RETURN_IF_ERROR(source.status());
  block.block.data.Append({bytes.get(), static_cast<size_t>(block.bytes), bytes});
  return std::move(block.block);
}

}  // namespace waggle
