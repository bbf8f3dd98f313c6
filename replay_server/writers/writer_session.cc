#include "replay_server/writers/writer_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/failpoint.h"
#include "common/replay/blocks/block_compression.h"
#include "replay_server/table/after_lock.h"
#include "replay_server/writers/block_home.h"

namespace waggle {
namespace {

template <class Condition>
bool AnyTable(const std::vector<std::shared_ptr<Table>>& tables, const Condition& condition) {
  return std::any_of(tables.begin(), tables.end(), [&condition](const auto& table) { return condition(*table); });
}

}  // namespace

WriterSession::WriterSession(std::vector<std::shared_ptr<Table>> tables, std::vector<ArraySpec> signature,
                             WriterSessionOptions options, const std::string& writer_id, TableLog* log,
                             const SavedWriter* saved, const WriterAccounts& memory)
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
      unlogged_(std::count_if(tables_.begin(), tables_.end(), [](const auto& table) { return !table->logged(); })),
      awaits_progress_(unlogged_ > 0 && unlogged_ < static_cast<int64_t>(tables_.size())),
      held_(rows_, LongestWindow(tables_), tables_.size() + 1, home_),
      held_memory_(memory.held),
      needed_memory_(memory.needed) {
  for (const std::shared_ptr<Table>& table : tables_) {
    clients_.push_back(table->clients()->Add(TableClient::Kind::kWriter, writer_id));
  }
  if (saved == nullptr) {
    return;
  }
  MutexLock insert_lock(&insert_mutex_);
  held_.Restore(saved->streams);
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

void WriterSession::SetEnded() {
  MutexLock lock(&mutex_);
  ended_ = true;
}

bool WriterSession::ended() const {
  MutexLock lock(&mutex_);
  return ended_ && waiting_.empty();
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

}  // namespace waggle
