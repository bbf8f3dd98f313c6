#include "replay_server/storage/saved_checks.h"

#include <cmath>
#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "replay_server/selectors/new_selector.h"

namespace waggle {
namespace {

// The largest number of a table, writer or block, and the largest count. Counting on cannot overflow.
constexpr uint64_t kLargest = uint64_t{1} << 62;

// Limit of a compressed chunk's column, uncompressed: many times the largest block that a writer may send.
constexpr uint64_t kMostCompressed = uint64_t{1} << 30;

bool CanBeCount(int64_t count) {
  return count >= 0 && static_cast<uint64_t>(count) <= kLargest;
}

// Checks pieces of one chunk as WriterSession checks those of a new block.
bool CanBePieces(const StoredBlock& stored, const RowLayout& layout) {
  if (stored.piece_bytes.size() != stored.rows.size() * layout.compressed.size()) {
    return false;
  }
  for (size_t i = 0; i < stored.piece_bytes.size(); ++i) {
    const uint64_t column_bytes = layout.column_bytes[layout.compressed[i / stored.rows.size()]];
    const uint64_t most = stored.rows[i % stored.rows.size()] * column_bytes;
    const uint64_t piece = stored.piece_bytes[i];
    if (piece > most || (piece == 0) != (most == 0) || (piece < most && most > kMostCompressed)) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<ParsedKey> ParseKeyOf(absl::string_view kinds, absl::string_view key) {
  WAGGLE_ASSIGN_OR_RETURN(const ParsedKey parsed, ParseKey(key));
  const uint64_t tiered = parsed.kind == 'h' || parsed.kind == 'r' ? kTieredBlock : 0;
  const uint64_t number = parsed.first ^ tiered;
  if (kinds.find(parsed.kind) == absl::string_view::npos || number == 0 || number > kLargest) {
    return absl::DataLossError(absl::StrCat("there is a key that cannot be here: ", absl::BytesToHexString(key)));
  }
  return parsed;
}

absl::StatusOr<uint64_t> CheckShape(uint64_t number, const StoredBlock& stored, const RowLayout& layout) {
  uint64_t rows = 0;
  bool whole = stored.holders > 0 && stored.holders <= (1 << 16);
  for (const uint32_t count : stored.rows) {
    rows += count;
    whole = whole && count > 0;
  }
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  if (!whole || rows > kMost || (layout.row_bytes > 0 && rows > kMost / layout.row_bytes) ||
      !CanBePieces(stored, layout)) {
    return absl::DataLossError(absl::StrCat("block ", number, " cannot have ", rows, " rows of ", layout.row_bytes,
                                            " bytes in ", stored.rows.size(), " chunks and ", stored.piece_bytes.size(),
                                            " pieces for ", stored.holders, " holders"));
  }
  uint64_t bytes = rows * layout.plain_row_bytes;
  for (const uint32_t piece : stored.piece_bytes) {
    bytes += piece;
  }
  return bytes;
}

absl::Status CheckCounters(const TableCounters& counters) {
  if (!CanBeCount(counters.inserted) || !CanBeCount(counters.sampled) || !CanBeCount(counters.removed)) {
    return absl::DataLossError(absl::StrCat("a table cannot have counted ", counters.inserted, " items inserted, ",
                                            counters.sampled, " sampled and ", counters.removed, " removed"));
  }
  if (!std::isfinite(counters.ratio_carried)) {
    return absl::DataLossError(absl::StrCat("a rate limiter cannot carry ", counters.ratio_carried, " on"));
  }
  return absl::OkStatus();
}

absl::Status CheckSequence(uint64_t sequence) {
  return sequence <= kLargest ? absl::OkStatus()
                              : absl::DataLossError(absl::StrCat("no writer has sent block ", sequence));
}

absl::Status CheckItem(const SavedTable& table, const ItemRecord& item) {
  const TableConfig& config = table.created;
  uint64_t rows = 0;
  for (const ChunkRef& chunk : item.chunks) {
    rows += chunk->rows();
  }
  if (int64_t{item.rows} < config.MinWindow() || int64_t{item.rows} > config.max_window ||
      int64_t{item.context} > config.MaxContextRows() || item.offset >= item.chunks.front()->rows() ||
      uint64_t{item.offset} + item.context + item.rows > rows || !ValidatePriority(table.config, item.priority).ok()) {
    return absl::DataLossError(
        absl::StrCat("table \"", config.name, "\", slot ", item.slot, ": its rows or its priority cannot be"));
  }
  return absl::OkStatus();
}

absl::Status CheckStream(const std::string& writer_id, const StreamRecord& stream) {
  uint64_t next = stream.first;
  for (size_t i = 0; i < stream.parts.size(); ++i) {
    const StreamRecord::Part& part = stream.parts[i];
    const uint64_t rows = part.chunk->rows();
    // The first chunk may begin with rows that are no longer held.
    if ((i == 0 ? part.first_row > next || next - part.first_row >= rows : part.first_row != next) ||
        part.first_row > std::numeric_limits<uint64_t>::max() - rows) {
      return absl::DataLossError(
          absl::StrCat("writer \"", writer_id, "\": stream ", stream.stream, " has a gap before row ", part.first_row));
    }
    next = part.first_row + rows;
  }
  if (next != stream.next || stream.parts.empty()) {
    return absl::DataLossError(absl::StrCat("writer \"", writer_id, "\": stream ", stream.stream, " ends with row ",
                                            next, " and not ", stream.next));
  }
  return absl::OkStatus();
}

}  // namespace waggle
