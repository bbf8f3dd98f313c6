#include "common/replay/blocks/row_writer.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "common/base/deadline.h"
#include "common/base/nearest_name.h"
#include "common/base/problems.h"
#include "common/base/status_macros.h"
#include "common/base/threads/flush_until_stopped.h"

namespace waggle {
namespace {

std::vector<std::string> Names(const std::vector<ArraySpec>& specs) {
  std::vector<std::string> names;
  for (const ArraySpec& spec : specs) {
    names.push_back(spec.name);
  }
  return names;
}

std::vector<Codec> Codecs(const TableConfig& table) {
  std::vector<Codec> codecs(table.signature.size(), Codec::kNone);
  for (const ColumnCompression& compression : table.compression) {
    for (size_t i = 0; i < codecs.size(); ++i) {
      codecs[i] = table.signature[i].name == compression.column ? compression.codec : codecs[i];
    }
  }
  return codecs;
}

absl::Status CheckTables(const std::vector<TableConfig>& tables) {
  if (tables.empty()) {
    return absl::InvalidArgumentError("tables: got none; wanted at least one");
  }
  for (const TableConfig& table : tables) {
    WAGGLE_RETURN_IF_ERROR(table.Validate());
    if (table.signature != tables[0].signature || Codecs(table) != Codecs(tables[0])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "table ", table.name, " has rows of ", DebugString(table.signature), "; table ", tables[0].name, " of ",
          DebugString(tables[0].signature), ": one writer writes rows of one kind, compressed alike"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RowWriterOptions::Validate() const {
  Problems problems;
  problems.AddUnless(chunk_rows >= 1, "chunk_rows: got ", chunk_rows, "; wanted at least 1");
  problems.AddUnless(block_bytes >= 1, "block_bytes: got ", block_bytes, "; wanted at least 1");
  return problems.ToStatus("", "; ");
}

absl::StatusOr<std::unique_ptr<RowWriter>> RowWriter::Create(ReplayConnection* connection,
                                                             std::vector<TableConfig> tables,
                                                             RowWriterOptions options) {
  WAGGLE_RETURN_IF_ERROR(options.Validate());
  WAGGLE_RETURN_IF_ERROR(CheckTables(tables));
  ReplayWriterOptions sink;
  std::random_device random;
  sink.writer_id = options.writer_id.empty()
                       ? absl::StrCat("writer-", absl::Hex((uint64_t{random()} << 32) | random(), absl::kZeroPad16))
                       : options.writer_id;
  for (const TableConfig& table : tables) {
    sink.tables.push_back(table.name);
  }
  sink.signature = tables[0].signature;
  sink.compression = tables[0].compression;
  sink.max_unacknowledged_blocks = options.max_unacknowledged_blocks;
  sink.max_unacknowledged_bytes = options.max_unacknowledged_bytes;
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<ReplayWriter> writer, connection->NewWriter(sink));
  return std::unique_ptr<RowWriter>(new RowWriter(std::move(tables), options, std::move(writer)));
}

RowWriter::RowWriter(std::vector<TableConfig> tables, const RowWriterOptions& options,
                     std::unique_ptr<ReplayWriter> sink)
    : tables_(std::move(tables)), options_(options), sink_(std::move(sink)) {
  for (const ArraySpec& column : tables_[0].signature) {
    column_bytes_.push_back(static_cast<size_t>(column.NumBytes()));
    row_bytes_ += column_bytes_.back();
  }
}

RowWriter::Stream* RowWriter::NewStream() {
  streams_.push_back(std::unique_ptr<Stream>(new Stream(this, static_cast<uint32_t>(streams_.size()))));
  streams_.back()->columns_.resize(column_bytes_.size());
  return streams_.back().get();
}

absl::Status RowWriter::ToColumns(const Row& row, std::vector<const void*>* columns) const {
  const std::vector<ArraySpec>& signature = tables_[0].signature;
  columns->assign(signature.size(), nullptr);
  for (const Row::Cell& cell : row.cells_) {
    const auto spec = std::find_if(signature.begin(), signature.end(),
                                   [&cell](const ArraySpec& column) { return column.name == cell.column; });
    if (spec == signature.end()) {
      return absl::InvalidArgumentError(absl::StrCat("no column named \"", cell.column, "\"",
                                                     DidYouMean(cell.column, Names(signature)), "; there are ",
                                                     DebugString(signature)));
    }
    if (cell.dtype != spec->dtype || static_cast<int64_t>(cell.elements) != spec->NumElements()) {
      return absl::InvalidArgumentError(absl::StrCat("column \"", cell.column, "\": got ", cell.elements, " of ",
                                                     DTypeName(cell.dtype), "; wanted ", spec->DebugString()));
    }
    const void*& column = (*columns)[static_cast<size_t>(spec - signature.begin())];
    if (column != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("column \"", cell.column, "\" is given twice"));
    }
    column = cell.elements == 0 ? signature.data() : cell.data;  // Nothing of it will be read.
  }
  for (size_t i = 0; i < columns->size(); ++i) {
    if ((*columns)[i] == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("column \"", signature[i].name, "\" is missing; wanted ", signature[i].DebugString()));
    }
  }
  return absl::OkStatus();
}

absl::Status RowWriter::Stream::Append(const Row& row, const StopToken& stop) {
  WAGGLE_RETURN_IF_ERROR(writer_->ToColumns(row, &writer_->row_));
  return Append(writer_->row_, stop);
}

absl::Status RowWriter::Stream::Append(absl::Span<const void* const> columns, const StopToken& stop) {
  if (columns.size() != columns_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("got ", columns.size(), " columns; a row has ", columns_.size()));
  }
  if (begins_ || chunks_.empty()) {
    chunks_.push_back({number_, next_row_, 0, begins_});
  }
  if (begins_) {
    begins_ = false;
    episode_rows_ = 0;
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    const char* bytes = static_cast<const char*>(columns[i]);
    columns_[i].insert(columns_[i].end(), bytes, bytes + writer_->column_bytes_[i]);
  }
  ++chunks_.back().rows;
  ++rows_;
  ++next_row_;
  ++episode_rows_;
  writer_->bytes_ += static_cast<int64_t>(writer_->row_bytes_);
  return rows_ >= writer_->options_.chunk_rows || writer_->bytes_ >= writer_->options_.block_bytes ? writer_->Send(stop)
                                                                                                   : absl::OkStatus();
}

absl::Status RowWriter::Stream::CreateItem(absl::string_view table, int64_t rows, std::optional<double> priority,
                                           const StopToken& stop) {
  return writer_->CreateItem(this, table, rows, priority, stop);
}

absl::Status RowWriter::CreateItem(Stream* stream, absl::string_view table, int64_t rows,
                                   std::optional<double> priority, const StopToken& stop) {
  const auto found =
      std::find_if(tables_.begin(), tables_.end(), [table](const TableConfig& config) { return config.name == table; });
  if (found == tables_.end()) {
    std::vector<std::string> names;
    for (const TableConfig& config : tables_) {
      names.push_back(config.name);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("the writer was not made for a table \"", table, "\"", DidYouMean(table, names)));
  }
  const int64_t least = found->MinWindow();
  if (rows < least || rows > found->max_window || rows > stream->episode_rows()) {
    return absl::InvalidArgumentError(absl::StrCat("an item of ", rows, " rows: the episode has ",
                                                   stream->episode_rows(), ", and table \"", table, "\" allows ",
                                                   least > 1 ? absl::StrCat(least, " to ") : "", found->max_window));
  }
  // All items of a block have priorities, or none has.
  if (!items_.empty() && highest_priority_ != !priority.has_value()) {
    WAGGLE_RETURN_IF_ERROR(Send(stop));
  }
  highest_priority_ = !priority.has_value();
  ItemInfo item;
  item.table = static_cast<uint32_t>(found - tables_.begin());
  item.stream = stream->number_;
  item.first_row = stream->next_row_ - static_cast<uint64_t>(rows);
  item.rows = static_cast<uint32_t>(rows);
  item.priority = priority.value_or(0);
  item.context_rows = static_cast<uint32_t>(std::min(found->MaxContextRows(), stream->episode_rows() - rows));
  items_.push_back(item);
  return absl::OkStatus();
}

absl::Status RowWriter::Send(const StopToken& stop) {
  for (bool sent = true; sent;) {
    WAGGLE_ASSIGN_OR_RETURN(sent, SendBlock(stop));
  }
  return absl::OkStatus();
}

// Sends one block. Returns false if there was none.
absl::StatusOr<bool> RowWriter::SendBlock(const StopToken& stop) {
  if (!unsent_.has_value()) {
    unsent_ = TakeBlock();
  }
  if (!unsent_.has_value()) {
    return false;
  }
  // A copy, which shares the rows: if a stop interrupts Append, the block must not be lost.
  const absl::Status appended = sink_->Append(*unsent_, stop);
  if (absl::IsCancelled(appended)) {
    return appended;
  }
  unsent_.reset();
  WAGGLE_RETURN_IF_ERROR(appended);
  return true;
}

// Returns the gathered rows and items; nullopt without any.
std::optional<InsertBlock> RowWriter::TakeBlock() {
  const bool rows = std::any_of(streams_.begin(), streams_.end(),
                                [](const std::unique_ptr<Stream>& stream) { return stream->rows_ > 0; });
  if (!rows && items_.empty()) {
    return std::nullopt;
  }
  InsertBlock block;
  block.items = std::exchange(items_, {});
  block.highest_priority = highest_priority_;
  const std::shared_ptr<char> data = AllocateBytes(static_cast<size_t>(bytes_));
  char* out = data.get();
  for (size_t column = 0; column < column_bytes_.size(); ++column) {
    for (const std::unique_ptr<Stream>& stream : streams_) {
      std::vector<char>& values = stream->columns_[column];
      out = std::copy(values.begin(), values.end(), out);
      values.clear();
    }
  }
  for (const std::unique_ptr<Stream>& stream : streams_) {
    block.chunks.insert(block.chunks.end(), stream->chunks_.begin(), stream->chunks_.end());
    stream->chunks_.clear();
    stream->rows_ = 0;
  }
  block.data.Append({data.get(), static_cast<size_t>(bytes_), data});
  bytes_ = 0;
  return block;
}

absl::Status RowWriter::Flush(absl::Duration timeout, const StopToken& stop) {
  const Deadline deadline(timeout);
  const auto flush = [this](absl::Duration left) { return sink_->Flush(left); };
  for (bool sent = true; sent;) {
    const absl::Status flushed = FlushUntilStopped(flush, stop, deadline.Left());
    if (absl::IsDeadlineExceeded(flushed)) {
      return absl::DeadlineExceededError(
          absl::StrCat("not all blocks are acknowledged after ", absl::FormatDuration(timeout)));
    }
    WAGGLE_RETURN_IF_ERROR(flushed);
    WAGGLE_ASSIGN_OR_RETURN(sent, SendBlock(stop));  // There is room for a block now: it does not wait.
  }
  return absl::OkStatus();
}

}  // namespace waggle
