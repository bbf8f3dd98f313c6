#include "replay_server/writers/writer_session.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/failpoint.h"
#include "common/base/status_macros.h"
#include "common/replay/blocks/block_compression.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/table/after_lock.h"
#include "replay_server/writers/block_home.h"

namespace waggle {
namespace {

// Blocks of one writer that may wait for room in tables.
constexpr size_t kMaxWaitingBlocks = 1024;

}  // namespace

WriterSession::WriterSession(std::vector<std::shared_ptr<Table>> tables, std::vector<ArraySpec> signature,
                             WriterSessionOptions options, const std::string& writer_id, TableLog* log,
                             const SavedWriter* saved, const WriterAccounts& memory)
    : tables_(std::move(tables)),
      rows_(std::make_shared<RowLayout>(signature, ColumnCodecs(signature, tables_.front()->created().compression),
                                        writer_id)),
      options_(options),
      log_(std::any_of(tables_.begin(), tables_.end(), [](const auto& table) { return table->number() != 0; })
               ? log
               : nullptr),
      number_(log_ == nullptr    ? 0
              : saved != nullptr ? saved->number
                                 : log_->NewNumber()),
      first_sequence_(saved != nullptr ? saved->sequence : 0),
      home_(HomeOf(log_, tables_)),
      unlogged_(std::count_if(tables_.begin(), tables_.end(), [](const auto& table) { return !table->logged(); })),
      awaits_progress_(unlogged_ > 0 && unlogged_ < static_cast<int64_t>(tables_.size())),
      intake_(tables_, rows_, options, home_, memory.held, memory.needed) {
  for (const std::shared_ptr<Table>& table : tables_) {
    clients_.push_back(table->clients()->Add(TableClient::Kind::kWriter, writer_id));
  }
  if (saved == nullptr) {
    return;
  }
  MutexLock insert_lock(&insert_mutex_);
  intake_.held()->Restore(saved->streams);
  std::vector<WriterMark> marks;
  for (const auto& table : tables_) {
    const auto mark = std::find_if(saved->marks.begin(), saved->marks.end(),
                                   [&table](const auto& named) { return named.first == table->name(); });
    marks.push_back(mark == saved->marks.end() ? WriterMark{number_, saved->sequence, 0, table->number()}
                                               : mark->second);
  }
  MutexLock lock(&mutex_);
  changes_.Restore(*saved, std::move(marks));
  incarnation_ = saved->incarnation;
  applied_ = durable_ = written_ = saved->sequence;
  applied_items_ = saved->counts;
  CountHeldBytes();
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
    ended_ = false;
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

absl::StatusOr<WriterSession::TakenIn> WriterSession::CheckSequence(uint64_t sequence, const InsertBlock& block,
                                                                    Done* done) {
  MutexLock lock(&mutex_);
  if (sequence <= applied_ && sequence > 0) {
    return TakenIn::kAppliedBefore;
  }
  WAGGLE_RETURN_IF_ERROR(broken_);
  const uint64_t accepted = applied_ + waiting_.size();
  if (sequence > applied_ && sequence <= accepted) {
    // The old callback is destroyed outside the lock. Its stream has ended.
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
  // Counts the final state.
  const absl::Cleanup count = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { CountHeldBytes(); };
  WAGGLE_ASSIGN_OR_RETURN(BlockItems made, intake_.Take(block));
  Accept(sequence, block, std::move(made), std::move(*done));
  if (intake_.IsWasteful()) {
    ShrinkHeld(&replaced);
  }
  return kind;
}

void WriterSession::Accept(uint64_t sequence, const InsertBlock& block, BlockItems made, Done done) {
  BlockChanges changes;
  if (log_ != nullptr) {
    changes.sequence = sequence;
    changes.fingerprint = Fingerprint(block);
    changes.result = made.counts;
    for (const auto& [stream, range] : made.streams) {
      changes.streams.push_back(intake_.held()->Record(stream));
    }
    ForgetSavedUnlessKnown(sequence, changes.fingerprint);
  }
  WaitingBlock waiting;
  waiting.result = made.counts;
  waiting.done = std::move(done);
  waiting.bytes = made.bytes + static_cast<int64_t>(block.data.size());
  waiting.answers_left = static_cast<int64_t>(tables_.size()) + (home_.tier != nullptr ? 1 : 0);
  waiting.unlogged_left = unlogged_;
  std::vector<uint64_t> skipped;
  {
    MutexLock lock(&mutex_);
    skipped = changes_.CountSaved(sequence, made.items);
  }
  for (size_t i = 0; i < tables_.size(); ++i) {
    made.items[i].erase(made.items[i].begin(), made.items[i].begin() + static_cast<ptrdiff_t>(skipped[i]));
  }
  held_bytes_.fetch_add(waiting.bytes, std::memory_order_relaxed);
  MutexLock lock(&mutex_);
  changes_.ForgetSavedUpTo(sequence);
  if (log_ != nullptr) {
    changes_.Add(std::move(changes));
  }
  waiting_bytes_ += waiting.bytes;
  waiting_.push_back(std::move(waiting));
  entering_.push_back({sequence, std::move(made.items), std::move(skipped)});
}

void WriterSession::ForgetSavedUnlessKnown(uint64_t sequence, uint64_t fingerprint) {
  {
    MutexLock lock(&mutex_);
    if (!changes_.has_saved() || changes_.IsSaved(sequence, fingerprint)) {
      return;
    }
  }
  // The writer has lost the saved block of this number and numbers its blocks anew. The tables must learn it first: if
  // this block were saved before, it would be taken for the lost one when it comes again.
  for (const auto& table : tables_) {
    table->RestartMark(number_, sequence - 1);
  }
  MutexLock lock(&mutex_);
  changes_.ForgetSaved();
}

// A writer's next block may come while a thread of its earlier stream passes on the last one. Tables need their order.
void WriterSession::EnterTables() {
  {
    MutexLock lock(&mutex_);
    if (std::exchange(is_entering_, true)) {
      return;  // The other thread takes this block along.
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
    Enter(&block);
  }
}

void WriterSession::Enter(EnteringBlock* block) {
  const std::shared_ptr<WriterSession> self = shared_from_this();
  const uint64_t sequence = block->sequence;
  // Logged tables last: if they have written the block, the others have it too, unless they lack room.
  for (const bool logged : {false, true}) {
    for (size_t i = 0; i < tables_.size(); ++i) {
      if (tables_[i]->logged() != logged) {
        continue;
      }
      // Tables without items get it too, so that there is one way to answer a block.
      tables_[i]->Insert(
          std::move(block->items[i]),
          [self, sequence, logged](const absl::Status& status) { self->AnswerOne(sequence, !logged, status); },
          clients_[i], {number_, sequence, block->skipped[i]});
    }
  }
  if (home_.tier != nullptr) {
    // While rows come faster than the disk writes, writers are answered later.
    home_.tier->AfterRoom(
        [self, sequence](const absl::Status& status) { self->AnswerOne(sequence, /*of_unlogged=*/false, status); });
  }
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

void WriterSession::AnswerLocked(Actions* actions) {
  const auto answer = [actions](WaitingBlock* block, const absl::StatusOr<Result>& result) {
    if (block->done != nullptr) {
      actions->push_back([done = std::exchange(block->done, nullptr), result] { done(result); });
    }
  };
  while (broken_.ok() && !waiting_.empty() && waiting_.front().answers_left == 0) {
    if (waiting_.front().status.ok() && awaits_progress_ && written_ <= applied_) {
      // After a crash this block would be unknown, and its rows missing for later windows.
      if (!std::exchange(writing_, true)) {
        actions->push_back([self = shared_from_this()] { self->WriteProgress(); });
      }
      break;
    }
    if (waiting_.front().status.ok()) {
      answer(&waiting_.front(), waiting_.front().result);
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
    std::vector<StreamRecord> replaced;
    changes_.AddUp(applied_, &replaced);
    if (!replaced.empty()) {
      actions->push_back([replaced = std::move(replaced)] {});  // Freed outside the lock.
    }
  }
  for (size_t i = 0; !broken_.ok() && i < waiting_.size(); ++i) {
    answer(&waiting_[i], broken_);
  }
}

void WriterSession::Shrink() {
  std::vector<StreamRecord> replaced;  // Freed outside the locks.
  MutexLock insert_lock(&insert_mutex_);
  ShrinkHeld(&replaced);
  CountHeldBytes();
}

void WriterSession::ShrinkHeld(std::vector<StreamRecord>* replaced) {
  if (!intake_.held()->Shrink() || log_ == nullptr) {
    return;
  }
  std::vector<StreamRecord> streams = intake_.held()->RecordAll();
  MutexLock lock(&mutex_);
  changes_.ReplaceStreams(std::move(streams), replaced);
}

void WriterSession::CountHeldBytes() {
  held_bytes_.fetch_add(intake_.CountBytes(), std::memory_order_relaxed);
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
      // The log has written everything else, so it does not know the writer's tables any more.
      waiting_.front().status =
          status.ok() ? absl::CancelledError("a table of this writer was replaced meanwhile") : status;
    }
    AnswerLocked(&actions);
  }
  RunAfterLock(std::move(actions));
}

}  // namespace waggle
