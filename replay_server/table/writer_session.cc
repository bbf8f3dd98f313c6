#include "replay_server/table/writer_session.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "replay_server/table/after_lock.h"

namespace waggle {
namespace {

// Blocks of one writer that may wait for room in tables.
constexpr size_t kMaxWaitingBlocks = 1024;

uint64_t LongestWindow(const std::vector<std::shared_ptr<Table>>& tables) {
  int64_t longest = 1;
  for (const auto& table : tables) {
    longest = std::max(longest, table->config().max_window);
  }
  return static_cast<uint64_t>(longest);
}

template <class... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

}  // namespace

WriterSession::WriterSession(std::vector<std::shared_ptr<Table>> tables, std::vector<ArraySpec> signature,
                             WriterSessionOptions options)
    : tables_(std::move(tables)),
      rows_(std::make_shared<RowLayout>(std::move(signature))),
      options_(options),
      held_rows_(LongestWindow(tables_)) {}

uint64_t WriterSession::applied_sequence() const {
  MutexLock lock(&mutex_);
  return applied_;
}

void WriterSession::Insert(uint64_t sequence, InsertBlock block, Done done) {
  absl::StatusOr<TakenIn> taken = TakeIn(sequence, block, &done);
  if (!taken.ok()) {
    done(Annotate(taken.status(), absl::StrCat("block ", sequence)));
    return;
  }
  switch (taken->kind) {
    case TakenIn::Kind::kAppliedBefore:
      done(Result{});
      return;
    case TakenIn::Kind::kWaitsAlready:
      return;
    case TakenIn::Kind::kNew:
      break;
  }
  const std::shared_ptr<WriterSession> self = shared_from_this();
  for (size_t i = 0; i < tables_.size(); ++i) {
    // A table without items is asked as well: the block is then answered in one way only.
    tables_[i]->Insert(std::move(taken->items[i]),
                       [self, sequence](const absl::Status& status) { self->TableDone(sequence, status); });
  }
}

absl::StatusOr<WriterSession::TakenIn> WriterSession::TakeIn(uint64_t sequence, const InsertBlock& block, Done* done) {
  MutexLock insert_lock(&insert_mutex_);
  {
    MutexLock lock(&mutex_);
    if (sequence <= applied_ && sequence > 0) {
      return TakenIn{TakenIn::Kind::kAppliedBefore, {}};
    }
    WAGGLE_RETURN_IF_ERROR(broken_);
    const uint64_t accepted = applied_ + waiting_.size();
    if (sequence > applied_ && sequence <= accepted) {
      waiting_[sequence - applied_ - 1].done.push_back(std::move(*done));
      return TakenIn{TakenIn::Kind::kWaitsAlready, {}};
    }
    if (sequence != accepted + 1) {
      return absl::FailedPreconditionError(
          absl::StrCat("blocks have to come without a gap; the next one is ", accepted + 1));
    }
    if (waiting_.size() >= kMaxWaitingBlocks) {
      return absl::ResourceExhaustedError(absl::StrCat(waiting_.size(), " blocks of this writer wait for room"));
    }
  }
  NextRows next_rows;
  WAGGLE_RETURN_IF_ERROR(CheckChunks(block, &next_rows));
  for (size_t i = 0; i < block.items.size(); ++i) {
    WAGGLE_RETURN_IF_ERROR(Annotate(CheckItem(block.items[i], next_rows), absl::StrCat("item ", i)));
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<ChunkRef> chunks, CopyRows(block));
  for (size_t i = 0; i < chunks.size(); ++i) {
    Stream& stream = streams_[block.chunks[i].stream];
    stream.chunks.push_back({block.chunks[i].first_row, chunks[i]});
    stream.next_row = block.chunks[i].first_row + block.chunks[i].rows;
  }
  WaitingBlock waiting;
  TakenIn taken{TakenIn::Kind::kNew, MakeItems(block, &waiting.result)};
  for (const ChunkInfo& chunk : block.chunks) {
    ForgetOldRows(&streams_[chunk.stream]);
  }
  waiting.tables_left = static_cast<int64_t>(tables_.size());
  waiting.done.push_back(std::move(*done));
  MutexLock lock(&mutex_);
  waiting_.push_back(std::move(waiting));
  return taken;
}

absl::Status WriterSession::CheckChunks(const InsertBlock& block, NextRows* next_rows) const {
  uint64_t total_rows = 0;
  uint64_t new_streams = 0;
  for (size_t i = 0; i < block.chunks.size(); ++i) {
    const ChunkInfo& chunk = block.chunks[i];
    if (chunk.rows == 0 || chunk.first_row > std::numeric_limits<uint64_t>::max() - chunk.rows) {
      return Invalid("chunk ", i, " of stream ", chunk.stream, ": ", chunk.rows, " rows from row ", chunk.first_row,
                     " on are none that a stream can have");
    }
    const auto before = next_rows->find(chunk.stream);
    const auto held = streams_.find(chunk.stream);
    if (before != next_rows->end() || held != streams_.end()) {
      const uint64_t expected = before != next_rows->end() ? before->second : held->second.next_row;
      if (chunk.first_row != expected) {
        return Invalid("chunk ", i, " of stream ", chunk.stream, " begins with row ", chunk.first_row,
                       "; the stream's next row is ", expected);
      }
    } else {
      ++new_streams;
    }
    (*next_rows)[chunk.stream] = chunk.first_row + chunk.rows;
    total_rows += chunk.rows;
  }
  if (streams_.size() + new_streams > static_cast<uint64_t>(options_.max_streams)) {
    return absl::ResourceExhaustedError(absl::StrCat("a writer may have ", options_.max_streams,
                                                     " streams; this one would have ", streams_.size() + new_streams));
  }
  const auto max_bytes = static_cast<uint64_t>(options_.max_block_bytes);
  const uint64_t row_bytes = rows_->row_bytes;
  if (total_rows > std::numeric_limits<uint32_t>::max() || (row_bytes > 0 && total_rows > max_bytes / row_bytes)) {
    return Invalid(total_rows, " rows of ", row_bytes, " bytes are more than the ", max_bytes,
                   " bytes that a block may have");
  }
  if (block.data.size() != total_rows * row_bytes) {
    return Invalid("got ", block.data.size(), " bytes of rows; ", total_rows, " rows of ", row_bytes, " bytes are ",
                   total_rows * row_bytes);
  }
  return absl::OkStatus();
}

absl::Status WriterSession::CheckItem(const ItemInfo& item, const NextRows& next_rows) const {
  if (item.table >= tables_.size()) {
    return Invalid("is for table number ", item.table, "; the writer named ", tables_.size(), " tables");
  }
  const Table& table = *tables_[item.table];
  const int64_t max_window = table.config().max_window;
  if (item.rows == 0 || int64_t{item.rows} > max_window) {
    return Invalid("has ", item.rows, " rows; table \"", table.config().name, "\" allows 1 to ", max_window);
  }
  WAGGLE_RETURN_IF_ERROR(
      Annotate(table.ValidatePriority(item.priority), absl::StrCat("for table \"", table.config().name, "\"")));
  const auto next = next_rows.find(item.stream);
  const auto held = streams_.find(item.stream);
  if (next == next_rows.end() && held == streams_.end()) {
    return absl::OkStatus();  // Its rows went with the server that had them; it is counted.
  }
  const uint64_t end = next != next_rows.end() ? next->second : held->second.next_row;
  if (item.first_row > end || item.rows > end - item.first_row) {
    return Invalid("its ", item.rows, " rows from row ", item.first_row, " on reach past the last row of stream ",
                   item.stream, ", which has ", end, " rows so far");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ChunkRef>> WriterSession::CopyRows(const InsertBlock& block) const {
  std::vector<uint32_t> rows;
  rows.reserve(block.chunks.size());
  size_t total_rows = 0;
  for (const ChunkInfo& chunk : block.chunks) {
    rows.push_back(chunk.rows);
    total_rows += chunk.rows;
  }
  NewBlock made = MakeChunks(rows_, rows, tables_.size());
  block.data.CopyTo(made.data);
  size_t start = 0;
  for (size_t i = 0; i < rows_->signature.size(); ++i) {
    const ArraySpec& column = rows_->signature[i];
    const int64_t bad = FindNonFinite(column.dtype, made.data + start * total_rows,
                                      static_cast<int64_t>(total_rows) * column.NumElements());
    if (bad >= 0) {
      return NotFiniteError(block, column, static_cast<uint64_t>(bad));
    }
    start += rows_->column_bytes[i];
  }
  return std::move(made.chunks);
}

absl::Status WriterSession::NotFiniteError(const InsertBlock& block, const ArraySpec& column, uint64_t element) {
  const auto elements = static_cast<uint64_t>(column.NumElements());
  uint64_t row = element / elements;
  size_t chunk = 0;
  while (row >= block.chunks[chunk].rows) {
    row -= block.chunks[chunk].rows;
    ++chunk;
  }
  return Invalid("column \"", column.name, "\" of stream ", block.chunks[chunk].stream, ", row ",
                 block.chunks[chunk].first_row + row, ", element ", element % elements,
                 " is not finite (NaN or infinity)");
}

WriterSession::ItemsByTable WriterSession::MakeItems(const InsertBlock& block, Result* result) const {
  ItemsByTable items(tables_.size());
  if (tables_.size() == 1) {
    items[0].reserve(block.items.size());
  }
  for (const ItemInfo& info : block.items) {
    NewItem item;
    if (!FindWindow(info, &item.window)) {
      ++result->items_without_rows;
      continue;
    }
    item.priority = info.priority;
    item.policy_version = block.policy_version;
    item.pins = static_cast<uint16_t>(info.table);
    items[info.table].push_back(std::move(item));
    ++result->items_inserted;
  }
  return items;
}

bool WriterSession::FindWindow(const ItemInfo& item, Window* window) const {
  const auto found = streams_.find(item.stream);
  if (found == streams_.end() || found->second.chunks.front().first_row > item.first_row) {
    return false;
  }
  // From the newest chunk back: that is where nearly all windows begin.
  const std::deque<HeldChunk>& chunks = found->second.chunks;
  size_t first = chunks.size() - 1;
  while (chunks[first].first_row > item.first_row) {
    --first;
  }
  window->offset = static_cast<uint32_t>(item.first_row - chunks[first].first_row);
  window->rows = item.rows;
  const uint64_t end = item.first_row + item.rows;
  for (size_t i = first; i < chunks.size() && chunks[i].first_row < end; ++i) {
    window->chunks.push_back(chunks[i].chunk);
  }
  return true;
}

void WriterSession::ForgetOldRows(Stream* stream) const {
  while (stream->chunks.size() > 1 && stream->chunks[1].first_row + held_rows_ <= stream->next_row) {
    stream->chunks.pop_front();
  }
}

void WriterSession::TableDone(uint64_t sequence, const absl::Status& status) {
  Actions actions;
  {
    MutexLock lock(&mutex_);
    WaitingBlock& block = waiting_[sequence - applied_ - 1];
    --block.tables_left;
    if (block.status.ok()) {
      block.status = status;
    }
    AnswerLocked(&actions);
  }
  RunAfterLock(std::move(actions));
}

void WriterSession::AnswerLocked(Actions* actions) {
  const auto answer = [actions](WaitingBlock* block, const absl::StatusOr<Result>& result) {
    for (Done& done : block->done) {
      actions->push_back([done = std::move(done), result] { done(result); });
    }
    block->done.clear();
  };
  while (broken_.ok() && !waiting_.empty() && waiting_.front().tables_left == 0) {
    if (waiting_.front().status.ok()) {
      answer(&waiting_.front(), waiting_.front().result);
      waiting_.pop_front();
      ++applied_;
    } else {
      broken_ = waiting_.front().status;
    }
  }
  for (size_t i = 0; !broken_.ok() && i < waiting_.size(); ++i) {
    answer(&waiting_[i], broken_);
  }
}

}  // namespace waggle
