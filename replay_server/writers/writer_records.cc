#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "replay_server/writers/writer_session.h"

// Saves a writer's progress.

namespace waggle {

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
