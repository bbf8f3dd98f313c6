#include "replay_server/table/writer_session.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/api/block_compression.h"
#include "common/base/annotate.h"
#include "common/base/failpoint.h"
#include "common/base/status_macros.h"
#include "common/tensor/checksum.h"
#include "replay_server/selectors/new_selector.h"
#include "replay_server/table/after_lock.h"
#include "replay_server/table/refusal_reasons.h"
#include "replay_server/table/row_source.h"

namespace waggle {
namespace {

// Blocks of one writer that may wait for room in tables.
constexpr size_t kMaxWaitingBlocks = 1024;

uint64_t LongestWindow(const std::vector<std::shared_ptr<Table>>& tables) {
  int64_t longest = 1;
  for (const auto& table : tables) {
    longest = std::max(longest, table->max_rows());
  }
  return static_cast<uint64_t>(longest);
}

template <class Condition>
bool AnyTable(const std::vector<std::shared_ptr<Table>>& tables, const Condition& condition) {
  return std::any_of(tables.begin(), tables.end(), [&condition](const auto& table) { return condition(*table); });
}

// The one of the largest limit: a block belongs to one tier only. None where a table has none, for that one's rows stay
// in memory.
std::shared_ptr<ChunkTier> TierOf(const std::vector<std::shared_ptr<Table>>& tables) {
  std::shared_ptr<ChunkTier> largest;
  for (const auto& table : tables) {
    if (table->tier() == nullptr) {
      return nullptr;
    }
    if (largest == nullptr || table->tier()->limit() > largest->limit()) {
      largest = table->tier();
    }
  }
  return largest;
}

BlockHome HomeOf(const TableLog* log, const std::vector<std::shared_ptr<Table>>& tables) {
  BlockHome home;
  home.tier = TierOf(tables);
  if (log != nullptr) {
    home.ledger = log->ledger();
    home.checkpointed =
        AnyTable(tables, [](const Table& table) { return table.created().durability == Durability::kCheckpoint; });
  }
  return home;
}

// Of what a block says, and of its rows where it has a checksum of them.
uint64_t Fingerprint(const InsertBlock& block) {
  Checksummer sum;
  const auto add = [&sum](uint64_t value) { sum.Update(&value, sizeof(value)); };
  add(block.chunks.size());
  for (const ChunkInfo& chunk : block.chunks) {
    add(chunk.stream);
    add(chunk.first_row);
    add(chunk.rows);
  }
  for (const ItemInfo& item : block.items) {
    add((uint64_t{item.table} << 32) | item.stream);
    add(item.first_row);
    add((uint64_t{item.rows} << 32) | item.context_rows);
    sum.Update(&item.priority, sizeof(item.priority));
  }
  add(block.policy_version);
  add(block.highest_priority ? 1 : 0);
  add(block.checksum.value_or(0));
  return sum.Digest();
}

template <class... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

}  // namespace

WriterSession::WriterSession(std::vector<std::shared_ptr<Table>> tables, std::vector<ArraySpec> signature,
                             WriterSessionOptions options, const std::string& writer_id, TableLog* log,
                             const SavedWriter* saved)
    : tables_(std::move(tables)),
      rows_(std::make_shared<RowLayout>(signature, ColumnCodecs(signature, tables_.front()->created().compression),
                                        writer_id)),
      options_(options),
      log_(AnyTable(tables_, [](const Table& table) { return table.number() != 0; }) ? log : nullptr),
      number_(log_ == nullptr    ? 0
              : saved != nullptr ? saved->number
                                 : log_->NewNumber()),
      home_(HomeOf(log_, tables_)),
      held_(rows_, LongestWindow(tables_), tables_.size() + 1, home_) {
  for (const std::shared_ptr<Table>& table : tables_) {
    requesters_.push_back(table->requesters()->Add(Requester::Kind::kWriter, writer_id));
  }
  if (saved == nullptr) {
    return;
  }
  MutexLock insert_lock(&insert_mutex_);
  held_.Restore(saved->streams);
  CountHeldBytes();
  for (const auto& table : tables_) {
    const auto mark = std::find_if(saved->marks.begin(), saved->marks.end(),
                                   [&table](const auto& named) { return named.first == table->name(); });
    saved_marks_.push_back(mark == saved->marks.end() ? WriterMark{number_, saved->sequence, 0, table->number()}
                                                      : mark->second);
  }
  MutexLock lock(&mutex_);
  saved_blocks_ = saved->fingerprints;
  incarnation_ = saved->incarnation;
  applied_ = added_up_ = durable_ = saved->sequence;
  applied_items_ = added_up_items_ = saved->counts;
}

WriterSession::~WriterSession() {
  if (log_ != nullptr) {
    for (const auto& table : tables_) {
      table->ForgetWriter(number_);
    }
    log_->ForgetWriter(number_);
  }
}

absl::Status WriterSession::Claim(uint64_t incarnation) {
  MutexLock lock(&mutex_);
  incarnation_ = incarnation_.value_or(incarnation);
  if (*incarnation_ == incarnation) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat("another writer has this id, with ", applied_,
                                                    " blocks applied and ", waiting_.size(),
                                                    " that wait for room: every writer needs an id of its own"));
}

WriterSession::Progress WriterSession::progress() const {
  MutexLock lock(&mutex_);
  return {applied_, applied_items_, std::min(durable_, applied_)};
}

uint64_t WriterSession::incarnation() const {
  MutexLock lock(&mutex_);
  return incarnation_.value_or(0);
}

void WriterSession::Insert(uint64_t sequence, InsertBlock block, Done done) {
  const absl::StatusOr<TakenIn> taken = TakeIn(sequence, block, &done);
  if (!taken.ok()) {
    done(Annotate(taken.status(), absl::StrCat("block ", sequence)));
    return;
  }
  switch (*taken) {
    case TakenIn::kAppliedBefore:
      done(Result{});
      return;
    case TakenIn::kWaitsAlready:
      return;
    case TakenIn::kNew:
      WAGGLE_FAILPOINT("writer.taken_in").IgnoreError();
      EnterTables();
      return;
  }
}

// A writer that has come back may send its next block while a thread of its stream before is on its way with the last
// one: tables have to get them in order all the same.
void WriterSession::EnterTables() {
  const std::shared_ptr<WriterSession> self = shared_from_this();
  {
    MutexLock lock(&mutex_);
    if (std::exchange(is_entering_, true)) {
      return;  // Whoever does it takes this block along.
    }
  }
  for (;;) {
    EnteringBlock block;
    {
      MutexLock lock(&mutex_);
      if (entering_.empty()) {
        is_entering_ = false;
        return;
      }
      block = std::move(entering_.front());
      entering_.pop_front();
    }
    const uint64_t sequence = block.sequence;
    for (size_t i = 0; i < tables_.size(); ++i) {
      // A table without items is asked as well: the block is then answered in one way only.
      tables_[i]->Insert(std::move(block.items[i]),
                         [self, sequence](const absl::Status& status) { self->TableDone(sequence, status); },
                         requesters_[i], {number_, sequence, block.skipped[i]});
    }
    if (home_.tier != nullptr) {
      // While rows come faster than they can be written to disk, their writers are told later that they are in.
      home_.tier->AfterRoom([self, sequence](const absl::Status& status) { self->TableDone(sequence, status); });
    }
  }
}

void WriterSession::Shrink() {
  std::vector<StreamRecord> replaced;  // Freed outside the locks.
  MutexLock insert_lock(&insert_mutex_);
  const bool shrunk = held_.Shrink();
  CountHeldBytes();
  if (!shrunk || log_ == nullptr) {
    return;
  }
  MutexLock lock(&mutex_);
  if (later_.empty()) {
    for (StreamRecord& record : held_.RecordAll()) {
      std::swap(changed_[record.stream], record);
      replaced.push_back(std::move(record));
    }
  } else {
    std::vector<StreamRecord> all = held_.RecordAll();
    later_.back().streams.swap(all);
    replaced = std::move(all);
  }
}

void WriterSession::CountHeldBytes() {
  const int64_t held = held_.bytes();
  held_bytes_.fetch_add(held - counted_, std::memory_order_relaxed);
  counted_ = held;
}

absl::StatusOr<WriterSession::TakenIn> WriterSession::CheckSequence(uint64_t sequence, const InsertBlock& block,
                                                                    Done* done) {
  MutexLock lock(&mutex_);
  if (sequence <= applied_ && sequence > 0) {
    return TakenIn::kAppliedBefore;
  }
  WAGGLE_RETURN_IF_ERROR(broken_);
  const uint64_t accepted = applied_ + waiting_.size();
  if (sequence > applied_ && sequence <= accepted) {
    // The one before is dropped, outside the lock: its stream is gone.
    waiting_[sequence - applied_ - 1].done.swap(*done);
    return TakenIn::kWaitsAlready;
  }
  if (sequence != accepted + 1) {
    return Refusal(absl::StatusCode::kFailedPrecondition, reasons::kBadSequence,
                   "blocks have to come without a gap; the next one is ", accepted + 1);
  }
  const auto bytes = static_cast<int64_t>(block.data.size());
  if (waiting_.size() >= kMaxWaitingBlocks ||
      (!waiting_.empty() && bytes > options_.max_waiting_bytes - waiting_bytes_)) {
    return Refusal(absl::StatusCode::kResourceExhausted, reasons::kTooManyWaiting, waiting_.size(),
                   " blocks of this writer, with ", waiting_bytes_, " bytes, wait for room");
  }
  return TakenIn::kNew;
}

absl::StatusOr<WriterSession::TakenIn> WriterSession::TakeIn(uint64_t sequence, const InsertBlock& block, Done* done) {
  MutexLock insert_lock(&insert_mutex_);
  WAGGLE_ASSIGN_OR_RETURN(const TakenIn kind, CheckSequence(sequence, block, done));
  if (kind != TakenIn::kNew) {
    return kind;
  }
  if (log_ != nullptr) {
    WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kDisk, log_->status()));
  }
  HeldRows::Ranges streams;
  WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kBadChunk, CheckChunks(block, &streams)));
  WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kBadWindow, CheckItems(block, streams)));
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<ChunkRef> chunks, WithReason(reasons::kBadChunk, CopyRows(block)));
  held_.Append(block.chunks, chunks);
  WaitingBlock waiting;
  absl::StatusOr<ItemsByTable> items = MakeItems(block, &waiting);
  if (!items.ok()) {
    held_.UndoAppend(block.chunks);
    return items.status();
  }
  const bool shrunk = held_.ForgetOld(block.chunks);
  CountHeldBytes();
  BlockChanges changes;
  if (log_ != nullptr) {
    changes.sequence = sequence;
    changes.fingerprint = Fingerprint(block);
    changes.result = waiting.result;
    if (shrunk) {
      changes.streams = held_.RecordAll();
    } else {
      for (const auto& [stream, range] : streams) {
        changes.streams.push_back(held_.Record(stream));
      }
    }
    ForgetSavedUnlessKnown(sequence, changes.fingerprint);
  }
  waiting.bytes += static_cast<int64_t>(block.data.size());
  waiting.answers_left = static_cast<int64_t>(tables_.size()) + (home_.tier != nullptr ? 1 : 0);
  waiting.done = std::move(*done);
  held_bytes_.fetch_add(waiting.bytes, std::memory_order_relaxed);
  {
    MutexLock lock(&mutex_);
    waiting_bytes_ += waiting.bytes;
    waiting_.push_back(std::move(waiting));
    std::vector<uint64_t> skipped = TakeSavedLocked(sequence, *items);
    for (size_t i = 0; i < tables_.size(); ++i) {
      (*items)[i].erase((*items)[i].begin(), (*items)[i].begin() + static_cast<ptrdiff_t>(skipped[i]));
    }
    entering_.push_back({sequence, *std::move(items), std::move(skipped)});
    if (log_ != nullptr) {
      later_.push_back(std::move(changes));
    }
  }
  return kind;
}

void WriterSession::ForgetSavedUnlessKnown(uint64_t sequence, uint64_t fingerprint) {
  {
    MutexLock lock(&mutex_);
    if (saved_blocks_.empty() || std::find(saved_blocks_.begin(), saved_blocks_.end(),
                                           std::make_pair(sequence, fingerprint)) != saved_blocks_.end()) {
      return;
    }
  }
  // The writer has forgotten the block that had this number, and so numbers what it sends anew. The tables learn of it
  // first: were this block written down before that, it would be taken for the other one when it comes again.
  for (const auto& table : tables_) {
    table->RestartMark(number_, sequence - 1);
  }
  MutexLock lock(&mutex_);
  saved_blocks_.clear();
}

std::vector<uint64_t> WriterSession::TakeSavedLocked(uint64_t sequence, const ItemsByTable& items) {
  std::vector<uint64_t> in(tables_.size());
  if (saved_blocks_.empty()) {
    return in;
  }
  for (size_t i = 0; i < tables_.size(); ++i) {
    if (sequence <= saved_marks_[i].sequence) {
      in[i] = items[i].size();
    } else if (sequence == saved_marks_[i].sequence + 1) {
      in[i] = std::min<uint64_t>(saved_marks_[i].items, items[i].size());
    }
  }
  saved_blocks_.erase(saved_blocks_.begin(),
                      std::find_if(saved_blocks_.begin(), saved_blocks_.end(),
                                   [sequence](const auto& block) { return block.first > sequence; }));
  return in;
}

void WriterSession::AddUpLocked(uint64_t sequence, std::vector<StreamRecord>* replaced) {
  while (!later_.empty() && later_.front().sequence <= sequence) {
    BlockChanges& block = later_.front();
    added_up_ = block.sequence;
    added_up_items_.items_inserted += block.result.items_inserted;
    added_up_items_.items_without_rows += block.result.items_without_rows;
    for (StreamRecord& record : block.streams) {
      std::swap(changed_[record.stream], record);
      replaced->push_back(std::move(record));
    }
    later_.pop_front();
  }
}

void WriterSession::HoldChanges() {
  MutexLock lock(&mutex_);
  hold_ = true;
}

WriterChanges WriterSession::TakeChanges(uint64_t sequence) {
  WriterChanges changes;
  std::vector<StreamRecord> replaced;  // Freed outside the lock.
  MutexLock lock(&mutex_);
  hold_ = false;
  AddUpLocked(sequence, &replaced);
  changes.counts = added_up_items_;
  for (auto& [stream, record] : changed_) {
    changes.streams.push_back(std::move(record));
  }
  changed_.clear();
  for (const BlockChanges& block : later_) {
    changes.fingerprints.emplace_back(block.sequence, block.fingerprint);
  }
  changes.fingerprints.insert(changes.fingerprints.end(), saved_blocks_.begin(), saved_blocks_.end());
  return changes;
}

void WriterSession::SetDurable(uint64_t sequence) {
  MutexLock lock(&mutex_);
  durable_ = sequence;
}

absl::Status WriterSession::CheckChunks(const InsertBlock& block, HeldRows::Ranges* streams) const {
  uint64_t total_rows = 0;
  for (size_t i = 0; i < block.chunks.size(); ++i) {
    const ChunkInfo& chunk = block.chunks[i];
    if (chunk.rows == 0 || chunk.first_row > std::numeric_limits<uint64_t>::max() - chunk.rows) {
      return Invalid("chunk ", i, " of stream ", chunk.stream, ": ", chunk.rows, " rows from row ", chunk.first_row,
                     " on are none that a stream can have");
    }
    const auto [it, is_first] = streams->try_emplace(chunk.stream);
    HeldRows::Range& range = it->second;
    if (is_first) {
      const HeldRows::Range* held = held_.Find(chunk.stream);
      const bool jumps = held != nullptr && chunk.first_row > held->next && held_.MayJump(chunk.stream);
      range = held != nullptr && !jumps ? *held : HeldRows::Range{chunk.first_row, chunk.first_row};
    }
    if (chunk.first_row != range.next) {
      return Invalid("chunk ", i, " of stream ", chunk.stream, " begins with row ", chunk.first_row,
                     "; the stream's next row is ", range.next);
    }
    range.next = chunk.first_row + chunk.rows;
    total_rows += chunk.rows;
  }
  return CheckSizes(block, total_rows, *streams);
}

absl::Status WriterSession::CheckSizes(const InsertBlock& block, uint64_t rows, const HeldRows::Ranges& streams) const {
  int64_t count = held_.streams();
  for (const auto& [stream, range] : streams) {
    count += held_.Find(stream) == nullptr ? 1 : 0;
  }
  if (count > options_.max_streams) {
    return Refusal(absl::StatusCode::kResourceExhausted, reasons::kWriterTooLarge, "a writer may have ",
                   options_.max_streams, " streams; this one would have ", count);
  }
  const auto max_bytes = static_cast<uint64_t>(options_.max_block_bytes);
  const uint64_t row_bytes = rows_->row_bytes;
  if (rows > std::numeric_limits<uint32_t>::max() || (row_bytes > 0 && rows > max_bytes / row_bytes)) {
    return Refusal(absl::StatusCode::kResourceExhausted, reasons::kBlockTooLarge, "chunk_rows: ", rows, " rows of ",
                   row_bytes, " bytes are more than the ", max_bytes, " bytes that a block may have");
  }
  WAGGLE_RETURN_IF_ERROR(CheckPieces(block));
  uint64_t bytes = rows * rows_->plain_row_bytes;
  for (const uint32_t piece : block.compressed_bytes) {
    bytes += piece;
  }
  if (block.data.size() != bytes) {
    return Invalid("got ", block.data.size(), " bytes of rows; ", rows, " rows of ", row_bytes, " bytes are ", bytes,
                   rows_->compressed.empty() ? "" : " as compressed_bytes says");
  }
  const int64_t needed = held_.NeededBytes(streams);
  if (needed > options_.max_held_bytes) {
    return Refusal(absl::StatusCode::kResourceExhausted, reasons::kWriterTooLarge, "the newest rows of the writer's ",
                   count, " streams, up to ", LongestWindow(tables_), " of each for windows to come, would take ",
                   needed, " bytes; a writer may have ", options_.max_held_bytes);
  }
  return absl::OkStatus();
}

absl::Status WriterSession::CheckPieces(const InsertBlock& block) const {
  const size_t columns = rows_->compressed.size();
  if (block.compressed_bytes.size() != columns * block.chunks.size()) {
    return Invalid("compressed_bytes has ", block.compressed_bytes.size(), " entries; ", columns,
                   " columns are compressed, of ", block.chunks.size(), " chunks");
  }
  for (size_t i = 0; i < block.compressed_bytes.size(); ++i) {
    const size_t column = rows_->compressed[i / block.chunks.size()];
    const ChunkInfo& chunk = block.chunks[i % block.chunks.size()];
    const size_t most = chunk.rows * rows_->column_bytes[column];
    if (block.compressed_bytes[i] > most || (block.compressed_bytes[i] == 0) != (most == 0)) {
      return Invalid("column \"", rows_->signature[column].name, "\" of stream ", chunk.stream, ", ", chunk.rows,
                     " rows from row ", chunk.first_row, " on, has ", block.compressed_bytes[i],
                     " compressed bytes; the rows themselves have ", most);
    }
  }
  return absl::OkStatus();
}

absl::Status WriterSession::CheckItems(const InsertBlock& block, const HeldRows::Ranges& streams) const {
  std::vector<std::shared_ptr<const TableConfig>> configs;
  for (const auto& table : tables_) {
    configs.push_back(table->config());
  }
  for (size_t i = 0; i < block.items.size(); ++i) {
    const ItemInfo& item = block.items[i];
    absl::Status status = CheckItem(item, streams);
    if (status.ok()) {
      status = CheckItemBytes(item, *configs[item.table]);
    }
    if (status.ok() && !block.highest_priority) {
      status =
          WithReason(reasons::kBadPriority, Annotate(ValidatePriority(*configs[item.table], item.priority),
                                                     absl::StrCat("for table \"", configs[item.table]->name, "\"")));
    }
    if (!status.ok()) {
      return Annotate(status, absl::StrCat("item ", i));
    }
  }
  return absl::OkStatus();
}

absl::Status WriterSession::CheckItem(const ItemInfo& item, const HeldRows::Ranges& streams) const {
  if (item.table >= tables_.size()) {
    return Invalid("is for table number ", item.table, "; the writer named ", tables_.size(), " tables");
  }
  const Table& table = *tables_[item.table];
  if (item.rows == 0 || int64_t{item.rows} > table.max_window()) {
    return Invalid("has ", item.rows, " rows; table \"", table.name(), "\" allows 1 to ", table.max_window());
  }
  const int64_t max_context = table.max_rows() - table.max_window();
  if (int64_t{item.context_rows} > max_context || item.context_rows > item.first_row) {
    return Invalid("has ", item.context_rows, " rows of context before row ", item.first_row, "; table \"",
                   table.name(), "\" allows up to ", max_context, ", of those that the stream has");
  }
  const auto in_block = streams.find(item.stream);
  const HeldRows::Range* range = in_block != streams.end() ? &in_block->second : held_.Find(item.stream);
  if (range == nullptr) {
    return absl::OkStatus();  // Its rows went with the server that had them; it is counted.
  }
  if (item.first_row > range->next || item.rows > range->next - item.first_row) {
    return Invalid("its ", item.rows, " rows from row ", item.first_row, " on reach past the last row of stream ",
                   item.stream, ", which has ", range->next, " rows so far");
  }
  return absl::OkStatus();
}

// Of columns that are compressed nobody knows how much an item's rows take.
absl::Status WriterSession::CheckItemBytes(const ItemInfo& item, const TableConfig& config) const {
  const uint64_t bytes = (uint64_t{item.rows} + item.context_rows) * rows_->plain_row_bytes;
  if (bytes <= static_cast<uint64_t>(config.max_bytes)) {
    return absl::OkStatus();
  }
  return Refusal(absl::StatusCode::kResourceExhausted, reasons::kItemTooLarge, "its ",
                 uint64_t{item.rows} + item.context_rows, " rows have ", bytes, " bytes; table \"", config.name,
                 "\" may have ", config.max_bytes, " (max_bytes)");
}

absl::StatusOr<std::vector<ChunkRef>> WriterSession::CopyRows(const InsertBlock& block) const {
  std::vector<uint32_t> rows;
  rows.reserve(block.chunks.size());
  size_t total_rows = 0;
  for (const ChunkInfo& chunk : block.chunks) {
    rows.push_back(chunk.rows);
    total_rows += chunk.rows;
  }
  NewBlock made = MakeChunks(rows_, rows, tables_.size() + 1, block.compressed_bytes, home_);
  block.data.CopyTo(made.data);
  if (block.checksum.has_value()) {  // Of the copy: what is kept is what was checked.
    const uint64_t checksum = Checksum(made.data, block.data.size());
    if (checksum != *block.checksum) {
      return Refusal(absl::StatusCode::kDataLoss, reasons::kDamagedRows,
                     "its rows were damaged on their way: their checksum is ", checksum, ", the writer's was ",
                     *block.checksum);
    }
  }
  for (size_t i = 0; i < rows_->signature.size(); ++i) {
    WAGGLE_RETURN_IF_ERROR(rows_->codec_of[i] == Codec::kNone ? CheckPlainColumn(block, made, total_rows, i)
                                                              : CheckCompressedColumn(block, made, i));
  }
  return std::move(made.chunks);
}

absl::Status WriterSession::CheckPlainColumn(const InsertBlock& block, const NewBlock& made, size_t total_rows,
                                             size_t column) const {
  const ArraySpec& spec = rows_->signature[column];
  const int64_t bad = FindNonFinite(spec.dtype, made.data + rows_->column_start[column] * total_rows,
                                    static_cast<int64_t>(total_rows) * spec.NumElements());
  return bad < 0 ? absl::OkStatus() : NotFiniteError(block, spec, 0, static_cast<uint64_t>(bad));
}

// Decompresses each piece: who samples it later must not be the one to find that it is none.
absl::Status WriterSession::CheckCompressedColumn(const InsertBlock& block, const NewBlock& made, size_t column) const {
  const ArraySpec& spec = rows_->signature[column];
  RowSource source(*rows_);
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

absl::Status WriterSession::NotFiniteError(const InsertBlock& block, const ArraySpec& column, size_t chunk,
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

absl::StatusOr<WriterSession::ItemsByTable> WriterSession::MakeItems(const InsertBlock& block,
                                                                     WaitingBlock* waiting) const {
  ItemsByTable items(tables_.size());
  if (tables_.size() == 1) {
    items[0].reserve(block.items.size());
  }
  int64_t references = 0;
  for (const ItemInfo& info : block.items) {
    NewItem item;
    const int64_t left = options_.max_block_references - references;
    switch (held_.FindWindow(info, static_cast<size_t>(left), &item.window)) {
      case HeldRows::Found::kNoRows:
        ++waiting->result.items_without_rows;
        continue;
      case HeldRows::Found::kTooManyChunks:
        return Refusal(absl::StatusCode::kResourceExhausted, reasons::kBlockTooLarge, "the block's ",
                       block.items.size(), " windows lie in more than ", options_.max_block_references,
                       " chunks together; send fewer windows a block, or more rows a chunk");
      case HeldRows::Found::kAll:
        break;
    }
    references += static_cast<int64_t>(item.window.chunks.size());
    item.priority = info.priority;
    item.highest_priority = block.highest_priority;
    item.policy_version = block.policy_version;
    item.pins = static_cast<uint16_t>(info.table);
    items[info.table].push_back(std::move(item));
    ++waiting->result.items_inserted;
  }
  waiting->bytes =
      static_cast<int64_t>(block.items.size() * sizeof(NewItem) + static_cast<size_t>(references) * sizeof(ChunkRef));
  return items;
}

void WriterSession::TableDone(uint64_t sequence, const absl::Status& status) {
  Actions actions;
  {
    MutexLock lock(&mutex_);
    WaitingBlock& block = waiting_[sequence - applied_ - 1];
    --block.answers_left;
    if (block.status.ok()) {
      block.status = status;
    }
    AnswerLocked(&actions);
  }
  RunAfterLock(std::move(actions));
}

void WriterSession::AnswerLocked(Actions* actions) {
  const auto answer = [actions](WaitingBlock* block, const absl::StatusOr<Result>& result) {
    if (block->done != nullptr) {
      actions->push_back([done = std::exchange(block->done, nullptr), result] { done(result); });
    }
  };
  while (broken_.ok() && !waiting_.empty() && waiting_.front().answers_left == 0) {
    if (waiting_.front().status.ok()) {
      applied_items_.items_inserted += waiting_.front().result.items_inserted;
      applied_items_.items_without_rows += waiting_.front().result.items_without_rows;
      answer(&waiting_.front(), waiting_.front().result);
      waiting_bytes_ -= waiting_.front().bytes;
      held_bytes_.fetch_sub(waiting_.front().bytes, std::memory_order_relaxed);
      waiting_.pop_front();
      ++applied_;
    } else {
      broken_ = waiting_.front().status;
    }
  }
  if (log_ != nullptr && !hold_) {
    auto replaced = std::make_shared<std::vector<StreamRecord>>();
    AddUpLocked(applied_, replaced.get());
    actions->push_back([replaced] { replaced->clear(); });
  }
  for (size_t i = 0; !broken_.ok() && i < waiting_.size(); ++i) {
    answer(&waiting_[i], broken_);
  }
}

}  // namespace waggle
