#include "replay_server/table/writer_session.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/api/block_compression.h"
#include "common/base/annotate.h"
#include "common/base/failpoint.h"
#include "common/base/guard.h"
#include "common/base/status_macros.h"
#include "common/tensor/checksum.h"
#include "replay_server/table/after_lock.h"
#include "replay_server/table/block_home.h"
#include "replay_server/table/refusal_reasons.h"

namespace waggle {
namespace {

// Blocks of one writer that may wait for room in tables.
constexpr size_t kMaxWaitingBlocks = 1024;

template <class Condition>
bool AnyTable(const std::vector<std::shared_ptr<Table>>& tables, const Condition& condition) {
  return std::any_of(tables.begin(), tables.end(), [&condition](const auto& table) { return condition(*table); });
}

}  // namespace

WriterSession::WriterSession(std::vector<std::shared_ptr<Table>> tables, std::vector<ArraySpec> signature,
                             WriterSessionOptions options, const std::string& writer_id, TableLog* log,
                             const SavedWriter* saved, std::shared_ptr<WriterMemory> memory)
    : tables_(std::move(tables)),
      rows_(std::make_shared<RowLayout>(signature, ColumnCodecs(signature, tables_.front()->created().compression),
                                        writer_id)),
      options_(options),
      checks_(tables_, *rows_, options),
      log_(AnyTable(tables_, [](const Table& table) { return table.number() != 0; }) ? log : nullptr),
      number_(log_ == nullptr    ? 0
              : saved != nullptr ? saved->number
                                 : log_->NewNumber()),
      first_sequence_(saved != nullptr ? saved->sequence : 0),
      home_(HomeOf(log_, tables_)),
      memory_(memory != nullptr ? std::move(memory) : std::make_shared<WriterMemory>()),
      unlogged_(std::count_if(tables_.begin(), tables_.end(), [](const auto& table) { return !table->logged(); })),
      awaits_progress_(unlogged_ > 0 && unlogged_ < static_cast<int64_t>(tables_.size())),
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
  changes_.Restore(*saved);
  incarnation_ = saved->incarnation;
  applied_ = durable_ = written_ = saved->sequence;
  applied_items_ = saved->counts;
}

WriterSession::~WriterSession() {
  {
    MutexLock lock(&insert_mutex_);
    memory_->Hold(-counted_);
    memory_->Need(-needed_);
  }
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
  {
    MutexLock lock(&mutex_);
    if (std::exchange(is_entering_, true)) {
      return;  // Whoever does it takes this block along.
    }
  }
  for (;;) {
    std::list<EnteringBlock> block;
    {
      MutexLock lock(&mutex_);
      if (entering_.empty()) {
        is_entering_ = false;
        return;
      }
      block.splice(block.end(), entering_, entering_.begin());
    }
    absl::Status status = Guarded([this, &block] { Enter(&block.front()); });
    if (!status.ok()) {
      EndEntering(block.front().sequence, std::move(status));
      return EnterTables();  // Which has none left where no later one may enter.
    }
  }
}

void WriterSession::Enter(EnteringBlock* block) {
  const std::shared_ptr<WriterSession> self = shared_from_this();
  const uint64_t sequence = block->sequence;
  // Logged tables last: when they have written the block, the others have it too, unless they have no room for it.
  for (const bool logged : {false, true}) {
    for (size_t i = 0; i < tables_.size(); ++i) {
      if (tables_[i]->logged() != logged) {
        continue;
      }
      // A table without items is asked as well: the block is then answered in one way only.
      tables_[i]->Insert(
          std::move(block->items[i]),
          [self, sequence, logged](const absl::Status& status) { self->AnswerOne(sequence, !logged, status); },
          requesters_[i], {number_, sequence, block->skipped[i]});
    }
  }
  if (home_.tier != nullptr) {
    // While rows come faster than they can be written to disk, their writers are told later that they are in.
    home_.tier->AfterRoom(
        [self, sequence](const absl::Status& status) { self->AnswerOne(sequence, /*of_unlogged=*/false, status); });
  }
}

void WriterSession::EndEntering(uint64_t sequence, absl::Status status) {
  std::list<EnteringBlock> left;  // Freed outside the lock.
  Actions actions;
  {
    MutexLock lock(&mutex_);
    is_entering_ = false;
    const bool is_in = sequence <= applied_ || waiting_[sequence - applied_ - 1].answers_left == 0;
    if (!is_in) {
      left.swap(entering_);
      broken_ = broken_.ok() ? std::move(status) : broken_;
    }
    AnswerLocked(&actions);
  }
  RunAfterLock(std::move(actions));
}

void WriterSession::Shrink() {
  std::vector<StreamRecord> replaced;  // Freed outside the locks.
  MutexLock insert_lock(&insert_mutex_);
  ShrinkHeld(&replaced);
  CountHeldBytes();
}

void WriterSession::ShrinkHeld(std::vector<StreamRecord>* replaced) {
  if (!held_.Shrink() || log_ == nullptr) {
    return;
  }
  std::vector<StreamRecord> streams = held_.RecordAll();
  MutexLock lock(&mutex_);
  changes_.ReplaceStreams(std::move(streams), replaced);
}

void WriterSession::CountHeldBytes() {
  const int64_t held = held_.bytes();
  held_bytes_.fetch_add(held - counted_, std::memory_order_relaxed);
  memory_->Hold(held - counted_);
  counted_ = held;
  const int64_t needed = held_.NeededBytes({});
  memory_->Need(needed - needed_);
  needed_ = needed;
}

absl::Status WriterSession::CountNeeded(const HeldRows::Ranges& streams) {
  const int64_t more = held_.NeededBytes(streams) - needed_;
  if (more > 0 && !memory_->TryNeed(more)) {
    return Refusal(absl::StatusCode::kResourceExhausted, reasons::kWritersTooLarge,
                   "the newest rows of all writers' streams, which are kept for windows to come, would take ", more,
                   " bytes more than the ", memory_->needed(), " that they take; this server has ", memory_->limit(),
                   " for them");
  }
  needed_ += std::max<int64_t>(0, more);
  return absl::OkStatus();
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
  std::vector<StreamRecord> replaced;  // Freed outside the locks.
  MutexLock insert_lock(&insert_mutex_);
  WAGGLE_ASSIGN_OR_RETURN(const TakenIn kind, CheckSequence(sequence, block, done));
  if (kind != TakenIn::kNew) {
    return kind;
  }
  if (log_ != nullptr) {
    WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kDisk, log_->status()));
  }
  HeldRows::Ranges streams;
  WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kBadChunk, checks_.CheckChunks(block, held_, &streams)));
  WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kBadWindow, checks_.CheckItems(block, held_, streams)));
  const absl::Cleanup count = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { CountHeldBytes(); };  // As it is in the end.
  WAGGLE_RETURN_IF_ERROR(CountNeeded(streams));
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<ChunkRef> chunks, WithReason(reasons::kBadChunk, CopyRows(block)));
  held_.Append(block.chunks, chunks);
  // Also where memory runs out: a block that comes again finds its streams as they were.
  absl::Cleanup undo = [this, &block]() ABSL_NO_THREAD_SAFETY_ANALYSIS { held_.UndoAppend(block.chunks); };
  PreparedBlock prepared;
  WAGGLE_RETURN_IF_ERROR(Prepare(sequence, block, streams, done, &prepared));
  std::move(undo).Cancel();
  Commit(block, &prepared);
  if (held_.IsWasteful(memory_->tight())) {
    try {
      ShrinkHeld(&replaced);
    } catch (const std::bad_alloc&) {
      // The block is in all the same, and the next one brings it about.
    }
  }
  return kind;
}

absl::Status WriterSession::Prepare(uint64_t sequence, const InsertBlock& block, const HeldRows::Ranges& streams,
                                    Done* done, PreparedBlock* prepared) {
  WaitingBlock waiting;
  WAGGLE_ASSIGN_OR_RETURN(ItemsByTable items, MakeItems(block, &waiting));
  BlockChanges changes;
  if (log_ != nullptr) {
    changes.sequence = sequence;
    changes.fingerprint = Fingerprint(block);
    changes.result = waiting.result;
    for (const auto& [stream, range] : streams) {
      prepared->streams.push_back(held_.Record(stream));
    }
    ForgetSavedUnlessKnown(sequence, changes.fingerprint);
  }
  waiting.bytes += static_cast<int64_t>(block.data.size());
  waiting.answers_left = static_cast<int64_t>(tables_.size()) + (home_.tier != nullptr ? 1 : 0);
  waiting.unlogged_left = unlogged_;
  waiting.done = std::move(*done);
  MutexLock lock(&mutex_);
  std::vector<uint64_t> saved = CountSavedLocked(sequence, items);
  prepared->entering.front() = {sequence, std::move(items), std::move(saved)};
  if (log_ != nullptr) {
    changes_.Add(std::move(changes));
  }
  absl::Cleanup undo = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (log_ != nullptr) {
      changes_.UndoAdd();
    }
  };
  const int64_t bytes = waiting.bytes;
  waiting_.push_back(std::move(waiting));
  std::move(undo).Cancel();
  waiting_bytes_ += bytes;
  held_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return absl::OkStatus();
}

void WriterSession::Commit(const InsertBlock& block, PreparedBlock* prepared) {
  held_.ForgetOld(block.chunks);
  for (StreamRecord& stream : prepared->streams) {
    held_.Trim(&stream);
  }
  EnteringBlock& entering = prepared->entering.front();
  for (size_t i = 0; i < tables_.size(); ++i) {
    std::vector<NewItem>& items = entering.items[i];
    items.erase(items.begin(), items.begin() + static_cast<ptrdiff_t>(entering.skipped[i]));
  }
  MutexLock lock(&mutex_);
  changes_.ForgetSavedUpTo(entering.sequence);
  if (log_ != nullptr) {
    changes_.SetStreams(std::move(prepared->streams));
  }
  entering_.splice(entering_.end(), prepared->entering);
}

void WriterSession::ForgetSavedUnlessKnown(uint64_t sequence, uint64_t fingerprint) {
  {
    MutexLock lock(&mutex_);
    if (!changes_.has_saved() || changes_.IsSaved(sequence, fingerprint)) {
      return;
    }
  }
  // The writer has forgotten the block that had this number, and so numbers what it sends anew. The tables learn of it
  // first: were this block written down before that, it would be taken for the other one when it comes again.
  for (const auto& table : tables_) {
    table->RestartMark(number_, sequence - 1);
  }
  MutexLock lock(&mutex_);
  changes_.ForgetSaved();
}

std::vector<uint64_t> WriterSession::CountSavedLocked(uint64_t sequence, const ItemsByTable& items) const {
  std::vector<uint64_t> in(tables_.size());
  if (!changes_.has_saved()) {
    return in;
  }
  for (size_t i = 0; i < tables_.size(); ++i) {
    if (sequence <= saved_marks_[i].sequence) {
      in[i] = items[i].size();
    } else if (sequence == saved_marks_[i].sequence + 1) {
      in[i] = std::min<uint64_t>(saved_marks_[i].items, items[i].size());
    }
  }
  return in;
}

void WriterSession::HoldChanges() {
  MutexLock lock(&mutex_);
  hold_ = true;
}

WriterChanges WriterSession::TakeChanges(uint64_t sequence) {
  std::vector<StreamRecord> replaced;  // Freed outside the lock.
  MutexLock lock(&mutex_);
  const uint64_t up_to = std::min(sequence, InUnloggedLocked());
  changes_.AddUp(up_to, &replaced);
  WriterChanges changes = changes_.Take();
  hold_ = false;
  changes.sequence = up_to;
  return changes;
}

uint64_t WriterSession::InUnloggedLocked() const {
  uint64_t sequence = applied_;
  for (const WaitingBlock& block : waiting_) {
    if (block.unlogged_left > 0) {
      break;
    }
    ++sequence;
  }
  return sequence;
}

void WriterSession::SetWritten(uint64_t sequence, uint64_t durable) {
  MutexLock lock(&mutex_);
  written_ = sequence;
  durable_ = durable;
}

absl::StatusOr<std::vector<ChunkRef>> WriterSession::CopyRows(const InsertBlock& block) const {
  std::vector<uint32_t> rows;
  rows.reserve(block.chunks.size());
  for (const ChunkInfo& chunk : block.chunks) {
    rows.push_back(chunk.rows);
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
  WAGGLE_RETURN_IF_ERROR(checks_.CheckRows(block, made));
  return std::move(made.chunks);
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

void WriterSession::AnswerOne(uint64_t sequence, bool of_unlogged, const absl::Status& status) {
  Actions actions;
  {
    MutexLock lock(&mutex_);
    WaitingBlock& block = waiting_[sequence - applied_ - 1];
    --block.answers_left;
    if (of_unlogged && status.ok()) {
      --block.unlogged_left;
    }
    if (block.status.ok()) {
      block.status = status;
    }
    AnswerLocked(&actions);
  }
  RunAfterLock(std::move(actions));
}

void WriterSession::WriteProgress() {
  for (const std::shared_ptr<Table>& table : tables_) {
    if (table->logged()) {
      table->TouchMark(number_);
      break;
    }
  }
  log_->AfterCommit([self = shared_from_this()](const absl::Status& status) { self->ProgressWritten(status); });
}

void WriterSession::ProgressWritten(const absl::Status& status) {
  Actions actions;
  {
    MutexLock lock(&mutex_);
    writing_ = false;
    if (!waiting_.empty() && waiting_.front().answers_left == 0 && written_ <= applied_) {
      // A log that has written everything and not this does not know the writer's tables any more.
      waiting_.front().status =
          status.ok() ? absl::CancelledError("a table of this writer was replaced meanwhile") : status;
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
    if (waiting_.front().status.ok() && awaits_progress_ && written_ <= applied_) {
      // After a crash it would not be known of this block, whose rows would be missing for windows to come.
      if (!std::exchange(writing_, true)) {
        actions->push_back([self = shared_from_this()] { self->WriteProgress(); });
      }
      break;
    }
    if (waiting_.front().status.ok()) {
      answer(&waiting_.front(), waiting_.front().result);  // First, for it takes memory.
      applied_items_.items_inserted += waiting_.front().result.items_inserted;
      applied_items_.items_without_rows += waiting_.front().result.items_without_rows;
      waiting_bytes_ -= waiting_.front().bytes;
      held_bytes_.fetch_sub(waiting_.front().bytes, std::memory_order_relaxed);
      waiting_.pop_front();
      ++applied_;
    } else {
      broken_ = waiting_.front().status;
    }
  }
  if (log_ != nullptr && !hold_) {
    try {
      auto replaced = std::make_shared<std::vector<StreamRecord>>();
      actions->push_back([replaced] { replaced->clear(); });
      changes_.AddUp(applied_, replaced.get());
    } catch (const std::bad_alloc&) {
      // The next answer, or whoever takes the changes, does it.
    }
  }
  for (size_t i = 0; !broken_.ok() && i < waiting_.size(); ++i) {
    answer(&waiting_[i], broken_);
  }
}

}  // namespace waggle
