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

// Keys of a replay database, and records of items and blocks. Numbers are little-endian; big-endian in keys, to sort.

namespace waggle {

// The format of new databases. Changes that older servers cannot read must increment it. Format 1 had no blocks in two
// records. In format 2 the checksum of their rows did not include the block's number. In format 3 rate limiters did not
// keep the balance of another ratio.
inline constexpr uint32_t kStorageFormat = 4;

// Column family "meta".
inline constexpr char kFormatKey[] = "format";
inline constexpr char kCheckpointKey[] = "checkpoint";
std::string TableKey(uint64_t table);
std::string CountersKey(uint64_t table);

// Column family "items": a table's items in the order of slots.
std::string ItemKey(uint64_t table, uint32_t slot);
// The first key after this table's.
std::string ItemsEnd(uint64_t table);

// Column family "blocks".
std::string BlockKey(uint64_t block);
// Blocks with kTieredBlock in their numbers have two records: a head, and the rows.
std::string HeadKey(uint64_t block);
std::string RowsKey(uint64_t block);

// Column family "writers".
std::string WriterKey(uint64_t writer);
std::string ProgressKey(uint64_t writer);
std::string MarkKey(uint64_t writer, uint64_t table);
std::string StreamKey(uint64_t writer, uint32_t stream);

// A parsed key: its kind ('t', 'c', 'i', 'b', 'h', 'r', 'w', 'p', 'm', 's') and one or two numbers.
struct ParsedKey {
  char kind = 0;
  uint64_t first = 0;
  uint64_t second = 0;
};
// DATA_LOSS if the key is invalid.
absl::StatusOr<ParsedKey> ParseKey(absl::string_view key);

// A chunk's place. Its block may not be in memory.
struct ChunkName {
  uint64_t block = 0;
  uint32_t index = 0;
};
using ChunkNames = absl::InlinedVector<ChunkName, 2>;

// The slot is in the key. All chunks' blocks must have ledgers.
std::string EncodeItem(const ItemRecord& item);
struct StoredItem {
  ItemRecord item;  // Without slot and chunks.
  ChunkNames chunks;
};
// DATA_LOSS if the bytes are not an item.
absl::StatusOr<StoredItem> DecodeItem(absl::string_view bytes);

// A block's record is the header, the rows and the trailer. The trailer has the XXH3 of all bytes before it.
struct BlockFrame {
  std::string header;
  std::string trailer;
};
BlockFrame EncodeBlockFrame(const DurableBlock& block);
struct StoredBlock {
  std::vector<uint32_t> rows;         // Rows of each chunk.
  std::vector<uint32_t> piece_bytes;  // See MakeChunks.
  uint32_t holders = 0;
  bool checkpointed = false;
  absl::string_view data;  // Points into the decoded bytes.
};
// DATA_LOSS if the bytes are damaged or not a block.
absl::StatusOr<StoredBlock> DecodeBlock(absl::string_view bytes);

// The head of a block, without its rows. DecodeBlockHead leaves `data` empty.
std::string EncodeBlockHead(const DurableBlock& block);
absl::StatusOr<StoredBlock> DecodeBlockHead(absl::string_view bytes);
// A record of rows is the rows and this trailer: their XXH3, exclusive-or the number of their block.
inline constexpr size_t kRowsTrailerBytes = sizeof(uint64_t);
std::string EncodeRowsTrailer(uint64_t block, const char* data, size_t bytes);
// Copies a block's rows out of their record. DATA_LOSS unless they are intact and this block's.
absl::Status DecodeRows(uint64_t block, absl::string_view record, char* data, size_t bytes);

}  // namespace waggle
