#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "replay_server/items/table_log.h"
#include "replay_server/rows/row_layout.h"
#include "replay_server/storage/records.h"

// Checks of records of a replay database, before memory is allocated and rows are located by their values. RocksDB's
// checksums find damage by the disk, but not wrong values. All errors are DATA_LOSS.

namespace waggle {

// Parses a key of one of `kinds`. Its number must be one that a table, writer or block can have.
absl::StatusOr<ParsedKey> ParseKeyOf(absl::string_view kinds, absl::string_view key);

// Returns the bytes of rows of block `number`. Later computations with them cannot overflow.
absl::StatusOr<uint64_t> CheckShape(uint64_t number, const StoredBlock& stored, const RowLayout& layout);

absl::Status CheckCounters(const TableCounters& counters);

// Checks a writer's block sequence.
absl::Status CheckSequence(uint64_t sequence);

// Checks an item and its chunks.
absl::Status CheckItem(const SavedTable& table, const ItemRecord& item);

// Checks a stream: its chunks must be contiguous and hold all of its rows.
absl::Status CheckStream(const std::string& writer_id, const StreamRecord& stream);

}  // namespace waggle
