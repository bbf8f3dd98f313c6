#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "common/replay/ports/replay.h"
#include "replay_server/rows/row_layout.h"
#include "replay_server/table/table.h"

namespace waggle {

struct TableExporterOptions {
  int64_t max_block_bytes = int64_t{1} << 20;  // Rows of a block; a single item may have more.
  int64_t max_block_items = 4096;
  // Chunks whose places are remembered and that are kept alive, so that later items over them do not repeat them.
  int64_t max_known_chunks = 65536;
  uint32_t max_streams = 4096;
};

// Converts a table's content to blocks as a writer could send them. In a table of the same configuration they make the
// same items, in order, with the same windows, contexts, priorities and policy versions. Shared rows are sent once as
// long as their chunks are remembered.
//
// The table continues meanwhile, because items are looked up in portions. Items that leave first and items that come
// after Prepare are left out. Used by one thread.
class TableExporter {
 public:
  explicit TableExporter(std::shared_ptr<Table> table, TableExporterOptions options = {});

  // Lists the items. Takes O(items). Must be called first.
  void Prepare();
  // The number of listed items.
  int64_t items() const { return static_cast<int64_t>(order_.size()); }

  // The next block, without checksum and uncompressed; null at the end. DATA_LOSS if rows are damaged.
  absl::StatusOr<std::optional<InsertBlock>> Next();

 private:
  // A chunk's place in the streams of the blocks.
  struct Place {
    ChunkRef chunk;
    uint32_t stream = 0;
    uint64_t segment = 0;  // The stream's, at that time.
    uint64_t first_row = 0;
    uint64_t block = 0;  // Block that has the chunk.
  };
  struct Stream {
    uint64_t next_row = 0;
    uint64_t segment = 0;  // Number of restarts.
    const Chunk* last = nullptr;
  };
  // An unfinished block.
  struct Block;

  // Ensures that the window's chunks are contiguous in a stream. Returns the place of the first.
  const Place& Locate(const Window& window, Block* block);
  const Place* Known(const Chunk& chunk) const;
  const Place& Write(const ChunkRef& chunk, uint32_t stream, bool begins, Block* block);
  uint32_t NewStream(bool* begins);
  absl::StatusOr<InsertBlock> Finish(Block block) const;

  const std::shared_ptr<Table> table_;
  const TableExporterOptions options_;
  const RowLayout rows_;
  std::vector<Table::ItemAddress> order_;  // Oldest first.
  size_t next_ = 0;
  uint64_t blocks_ = 0;  // Finished.
  absl::flat_hash_map<const Chunk*, Place> known_;
  std::deque<const Chunk*> known_order_;
  std::vector<Stream> streams_;
  uint32_t next_stream_ = 0;
};

}  // namespace waggle
