#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "common/api/replay.h"
#include "replay_server/rows/row_layout.h"
#include "replay_server/table/table.h"

namespace waggle {

struct TableExporterOptions {
  int64_t max_block_bytes = int64_t{1} << 20;  // Of rows; one item's rows may be more.
  int64_t max_block_items = 4096;
  // Chunks whose place is remembered, so that the next items over them need not bring them along again. They are kept
  // alive meanwhile.
  int64_t max_known_chunks = 65536;
  uint32_t max_streams = 4096;
};

// Turns what a table holds into blocks that a writer could have sent: written into a table of the same configuration,
// they make the same items, in the order in which they came, with the same windows, contexts, priorities and policy
// versions. Rows that windows share are in one block only, as far as that was remembered.
//
// Items are looked up piece by piece, so the table goes on meanwhile; items that leave before their turn are left out,
// and ones that came after Prepare are not in it. One thread.
class TableExporter {
 public:
  explicit TableExporter(std::shared_ptr<Table> table, TableExporterOptions options = {});

  // Finds out which items there are. Takes time in proportion to their number. To be called first.
  void Prepare();
  // Items that there were then.
  int64_t items() const { return static_cast<int64_t>(order_.size()); }

  // The next block, without a checksum and not compressed; none after the last one. DATA_LOSS for rows that were
  // damaged.
  absl::StatusOr<std::optional<InsertBlock>> Next();

 private:
  // Where in the streams of the blocks a chunk is.
  struct Place {
    ChunkRef chunk;
    uint32_t stream = 0;
    uint64_t segment = 0;  // Of the stream, when it was written.
    uint64_t first_row = 0;
    uint64_t block = 0;  // That it was written in.
  };
  struct Stream {
    uint64_t next_row = 0;
    uint64_t segment = 0;  // Counts the times that it began anew.
    const Chunk* last = nullptr;
  };
  // A block that is being put together.
  struct Block;

  // Makes sure that the window's chunks are in the streams, one after the other; returns where its first one is.
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
