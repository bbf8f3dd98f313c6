#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "replay_server/items/table_log.h"
#include "replay_server/rows/row_layout.h"
#include "replay_server/storage/records.h"

// What records in a replay database may say. Their checksums are RocksDB's, and tell what the disk has damaged, not
// what was written wrongly; memory is taken, and rows are looked for, by what has passed these. All errors are
// DATA_LOSS.

namespace waggle {

// A key of one of these kinds, with a number that can have been given to a table, a writer or a block.
absl::StatusOr<ParsedKey> ParseKeyOf(absl::string_view kinds, absl::string_view key);

// How many bytes the rows of block `number` have: all computations with them are far from overflow after this.
absl::StatusOr<uint64_t> CheckShape(uint64_t number, const StoredBlock& stored, const RowLayout& layout);

absl::Status CheckCounters(const TableCounters& counters);

// Where a writer is, by one of its records.
absl::Status CheckSequence(uint64_t sequence);

// An item of a table, with its chunks.
absl::Status CheckItem(const SavedTable& table, const ItemRecord& item);

// A stream, with its chunks: they follow one another without a gap, and hold all of its rows.
absl::Status CheckStream(const std::string& writer_id, const StreamRecord& stream);

}  // namespace waggle
