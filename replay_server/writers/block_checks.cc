#include "replay_server/writers/block_checks.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/rows/row_source.h"
#include "replay_server/selectors/new_selector.h"

namespace waggle {
namespace {

template <class... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

}  // namespace

uint64_t LongestWindow(const std::vector<std::shared_ptr<Table>>& tables) {
  int64_t longest = 1;
  for (const auto& table : tables) {
    longest = std::max(longest, table->max_rows());
  }
  return static_cast<uint64_t>(longest);
}

absl::Status BlockChecks::CheckChunks(const InsertBlock& block, const ReservedRows& held,
                                      ReservedRows::Ranges* streams) const {
  uint64_t total_rows = 0;
  for (size_t i = 0; i < block.chunks.size(); ++i) {
    const ChunkInfo& chunk = block.chunks[i];
    if (chunk.rows == 0 || chunk.first_row > std::numeric_limits<uint64_t>::max() - chunk.rows) {
      return Invalid("chunk ", i, " of stream ", chunk.stream, ": ", chunk.rows, " rows from row ", chunk.first_row,
                     " on are none that a stream can have");
    }
    const auto [it, is_first] = streams->try_emplace(chunk.stream);
    ReservedRows::Range& range = it->second;
    if (is_first) {
      const ReservedRows::Range* known = held.Find(chunk.stream);
      const bool jumps = known != nullptr && chunk.first_row > known->next && held.MayJump(chunk.stream);
      range = known != nullptr && !jumps ? *known : ReservedRows::Range{chunk.first_row, chunk.first_row};
    }
    if (chunk.first_row != range.next) {
      return Invalid("chunk ", i, " of stream ", chunk.stream, " begins with row ", chunk.first_row,
                     "; the stream's next row is ", range.next);
    }
    range.next = chunk.first_row + chunk.rows;
    total_rows += chunk.rows;
  }
  return CheckSizes(block, total_rows, held, *streams);
}

absl::Status BlockChecks::CheckSizes(const InsertBlock& block, uint64_t rows, const ReservedRows& held,
                                     const ReservedRows::Ranges& streams) const {
  int64_t count = held.streams();
  for (const auto& [stream, range] : streams) {
    count += held.Find(stream) == nullptr ? 1 : 0;
  }
  if (count > options_.max_streams) {
    return Refusal(absl::StatusCode::kResourceExhausted, reasons::kWriterTooLarge, "a writer may have ",
                   options_.max_streams, " streams; this one would have ", count);
  }
  const auto max_bytes = static_cast<uint64_t>(options_.max_block_bytes);
  const uint64_t row_bytes = rows_.row_bytes;
  if (rows > std::numeric_limits<uint32_t>::max() || (row_bytes > 0 && rows > max_bytes / row_bytes)) {
    return Refusal(absl::StatusCode::kResourceExhausted, reasons::kBlockTooLarge, "chunk_rows: ", rows, " rows of ",
                   row_bytes, " bytes are more than the ", max_bytes, " bytes that a block may have");
  }
  WAGGLE_RETURN_IF_ERROR(CheckPieces(block));
  uint64_t bytes = rows * rows_.plain_row_bytes;
  for (const uint32_t piece : block.compressed_bytes) {
    bytes += piece;
  }
  if (block.data.size() != bytes) {
    return Invalid("got ", block.data.size(), " bytes of rows; ", rows, " rows of ", row_bytes, " bytes are ", bytes,
                   rows_.compressed.empty() ? "" : " as compressed_bytes says");
  }
  const int64_t needed = held.NeededBytes(streams);
  if (needed > options_.max_held_bytes) {
    return Refusal(absl::StatusCode::kResourceExhausted, reasons::kWriterTooLarge, "the newest rows of the writer's ",
                   count, " streams, up to ", longest_window_, " of each for windows to come, would take ", needed,
                   " bytes; a writer may have ", options_.max_held_bytes);
  }
  return absl::OkStatus();
}

absl::Status BlockChecks::CheckPieces(const InsertBlock& block) const {
  const size_t columns = rows_.compressed.size();
  if (block.compressed_bytes.size() != columns * block.chunks.size()) {
    return Invalid("compressed_bytes has ", block.compressed_bytes.size(), " entries; ", columns,
                   " columns are compressed, of ", block.chunks.size(), " chunks");
  }
  for (size_t i = 0; i < block.compressed_bytes.size(); ++i) {
    const size_t column = rows_.compressed[i / block.chunks.size()];
    const ChunkInfo& chunk = block.chunks[i % block.chunks.size()];
    const size_t most = chunk.rows * rows_.column_bytes[column];
    if (block.compressed_bytes[i] > most || (block.compressed_bytes[i] == 0) != (most == 0)) {
      return Invalid("column \"", rows_.signature[column].name, "\" of stream ", chunk.stream, ", ", chunk.rows,
                     " rows from row ", chunk.first_row, " on, has ", block.compressed_bytes[i],
                     " compressed bytes; the rows themselves have ", most);
    }
  }
  return absl::OkStatus();
}

absl::Status BlockChecks::CheckItems(const InsertBlock& block, const ReservedRows& held,
                                     const ReservedRows::Ranges& streams) const {
  std::vector<std::shared_ptr<const TableConfig>> configs;
  for (const auto& table : tables_) {
    configs.push_back(table->config());
  }
  const ReservedRows::Range* range = nullptr;
  for (size_t i = 0; i < block.items.size(); ++i) {
    const ItemInfo& item = block.items[i];
    if (i == 0 || item.stream != block.items[i - 1].stream) {
      const auto in_block = streams.find(item.stream);
      range = in_block != streams.end() ? &in_block->second : held.Find(item.stream);
    }
    absl::Status status = CheckItem(item, range);
    if (status.ok()) {
      status = CheckItemBytes(item, *configs[item.table]);
    }
    if (status.ok() && !block.highest_priority) {
      status = ValidatePriority(*configs[item.table], item.priority);
      if (!status.ok()) {
        status = WithReason(reasons::kBadPriority,
                            Annotate(status, absl::StrCat("for table \"", configs[item.table]->name, "\"")));
      }
    }
    if (!status.ok()) {
      return Annotate(status, absl::StrCat("item ", i));
    }
  }
  return absl::OkStatus();
}

absl::Status BlockChecks::CheckItem(const ItemInfo& item, const ReservedRows::Range* range) const {
  if (item.table >= tables_.size()) {
    return Invalid("is for table number ", item.table, "; the writer named ", tables_.size(), " tables");
  }
  const Table& table = *tables_[item.table];
  if (int64_t{item.rows} < table.min_window() || int64_t{item.rows} > table.max_window()) {
    return Invalid("has ", item.rows, " rows; table \"", table.name(), "\" allows ", table.min_window(), " to ",
                   table.max_window(), table.min_window() > 1 ? ", one of them a future row behind its first" : "");
  }
  const int64_t max_context = table.max_rows() - table.max_window();
  if (int64_t{item.context_rows} > max_context || item.context_rows > item.first_row) {
    return Invalid("has ", item.context_rows, " rows of context before row ", item.first_row, "; table \"",
                   table.name(), "\" allows up to ", max_context, ", of those that the stream has");
  }
  if (range == nullptr) {
    return absl::OkStatus();  // A lost server had its rows; the item is counted.
  }
  if (item.first_row > range->next || item.rows > range->next - item.first_row) {
    return Invalid("its ", item.rows, " rows from row ", item.first_row, " on reach past the last row of stream ",
                   item.stream, ", which has ", range->next, " rows so far");
  }
  return absl::OkStatus();
}

// Only plain columns count: the sizes of an item's compressed rows are unknown.
absl::Status BlockChecks::CheckItemBytes(const ItemInfo& item, const TableConfig& config) const {
  const uint64_t bytes = (uint64_t{item.rows} + item.context_rows) * rows_.plain_row_bytes;
  if (bytes <= static_cast<uint64_t>(config.max_bytes)) {
    return absl::OkStatus();
  }
  return Refusal(absl::StatusCode::kResourceExhausted, reasons::kItemTooLarge, "its ",
                 uint64_t{item.rows} + item.context_rows, " rows have ", bytes, " bytes; table \"", config.name,
                 "\" may have ", config.max_bytes, " (max_bytes)");
}

absl::Status BlockChecks::CheckRows(const InsertBlock& block, const NewBlock& made) const {
  size_t total_rows = 0;
  for (const ChunkInfo& chunk : block.chunks) {
    total_rows += chunk.rows;
  }
  for (size_t i = 0; i < rows_.signature.size(); ++i) {
    WAGGLE_RETURN_IF_ERROR(rows_.codec_of[i] == Codec::kNone ? CheckPlainColumn(block, made, total_rows, i)
                                                             : CheckCompressedColumn(block, made, i));
  }
  return absl::OkStatus();
}

absl::Status BlockChecks::CheckPlainColumn(const InsertBlock& block, const NewBlock& made, size_t total_rows,
                                           size_t column) const {
  const ArraySpec& spec = rows_.signature[column];
  const int64_t bad = FindNonFinite(spec.dtype, made.data + rows_.column_start[column] * total_rows,
                                    static_cast<int64_t>(total_rows) * spec.NumElements());
  return bad < 0 ? absl::OkStatus() : NotFiniteError(block, spec, 0, static_cast<uint64_t>(bad));
}

// Decompresses each piece, so that sampling does not find damaged ones.
absl::Status BlockChecks::CheckCompressedColumn(const InsertBlock& block, const NewBlock& made, size_t column) const {
  const ArraySpec& spec = rows_.signature[column];
  RowSource source(rows_);
  for (size_t i = 0; i < made.chunks.size(); ++i) {
    const char* rows = source.Row(*made.chunks[i], column, 0);
    if (!source.status().ok()) {
      return Invalid("the rows of stream ", block.chunks[i].stream, " from row ", block.chunks[i].first_row,
                     " on: ", source.status().message());
    }
    const int64_t bad = FindNonFinite(spec.dtype, rows, made.chunks[i]->rows() * spec.NumElements());
    if (bad >= 0) {
      return NotFiniteError(block, spec, i, static_cast<uint64_t>(bad));
    }
  }
  return absl::OkStatus();
}

absl::Status BlockChecks::NotFiniteError(const InsertBlock& block, const ArraySpec& column, size_t chunk,
                                         uint64_t element) {
  const auto elements = static_cast<uint64_t>(column.NumElements());
  uint64_t row = element / elements;
  while (row >= block.chunks[chunk].rows) {
    row -= block.chunks[chunk].rows;
    ++chunk;
  }
  return WithReason(reasons::kNotFinite, Invalid("column \"", column.name, "\" of stream ", block.chunks[chunk].stream,
                                                 ", row ", block.chunks[chunk].first_row + row, ", element ",
                                                 element % elements, " is not finite (NaN or infinity)"));
}

}  // namespace waggle
