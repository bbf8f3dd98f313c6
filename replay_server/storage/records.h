#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "replay_server/items/table_log.h"

// The keys of a replay database, and its two records that are many: items and blocks of rows. All numbers are
// little-endian but for those in keys, which are big-endian so that they sort.

namespace waggle {

// What is written here. A change that an older server could not read takes the next number.
// 1: no blocks in two records. 2: the rows of those do not say whose they are. 3: rate limiters carry nothing on
// from another ratio.
inline constexpr uint32_t kStorageFormat = 4;

// Column family "meta".
inline constexpr char kFormatKey[] = "format";
inline constexpr char kCheckpointKey[] = "checkpoint";
std::string TableKey(uint64_t table);
std::string CountersKey(uint64_t table);

// Column family "items": a table's in the order of their slots.
std::string ItemKey(uint64_t table, uint32_t slot);
// The first key that is not of this table.
std::string ItemsEnd(uint64_t table);

// Column family "blocks".
std::string BlockKey(uint64_t block);
// Blocks with kTieredBlock in their numbers have two records instead: a head, and the rows.
std::string HeadKey(uint64_t block);
std::string RowsKey(uint64_t block);

// Column family "writers".
std::string WriterKey(uint64_t writer);
std::string ProgressKey(uint64_t writer);
std::string MarkKey(uint64_t writer, uint64_t table);
std::string StreamKey(uint64_t writer, uint32_t stream);

// A key taken apart: its kind ('t', 'c', 'i', 'b', 'h', 'r', 'w', 'p', 'm', 's') and its numbers, as many as that has.
struct ParsedKey {
  char kind = 0;
  uint64_t first = 0;
  uint64_t second = 0;
};
// DATA_LOSS for a key that is none.
absl::StatusOr<ParsedKey> ParseKey(absl::string_view key);

// A chunk of a block that may not be in memory.
struct ChunkName {
  uint64_t block = 0;
  uint32_t index = 0;
};
using ChunkNames = absl::InlinedVector<ChunkName, 2>;

// The slot is in the key; the chunks have blocks with ledgers.
std::string EncodeItem(const ItemRecord& item);
struct StoredItem {
  ItemRecord item;  // Without its slot and its chunks.
  ChunkNames chunks;
};
// DATA_LOSS for bytes that are no item.
absl::StatusOr<StoredItem> DecodeItem(absl::string_view bytes);

// A block's record is these two with its rows between them; the trailer has the XXH3 of all that is before it.
struct BlockFrame {
  std::string header;
  std::string trailer;
};
BlockFrame EncodeBlockFrame(const DurableBlock& block);
struct StoredBlock {
  std::vector<uint32_t> rows;         // Of each chunk.
  std::vector<uint32_t> piece_bytes;  // See MakeChunks.
  uint32_t holders = 0;
  bool checkpointed = false;
  absl::string_view data;  // In the bytes that were given.
};
// DATA_LOSS for bytes that are no block, or were damaged.
absl::StatusOr<StoredBlock> DecodeBlock(absl::string_view bytes);

// The head of a block without its rows; decoded, it has no data.
std::string EncodeBlockHead(const DurableBlock& block);
absl::StatusOr<StoredBlock> DecodeBlockHead(absl::string_view bytes);
// A record of rows is the rows, and then this: their XXH3, exclusive-or the number of their block.
inline constexpr size_t kRowsTrailerBytes = sizeof(uint64_t);
std::string EncodeRowsTrailer(uint64_t block, const char* data, size_t bytes);
// Copies a block's rows, of so many bytes, out of their record. DATA_LOSS unless they are what was written for it.
absl::Status DecodeRows(uint64_t block, absl::string_view record, char* data, size_t bytes);

}  // namespace waggle
