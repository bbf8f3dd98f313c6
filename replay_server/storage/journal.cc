#include "replay_server/storage/journal.h"

#include <utility>

#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "common/base/steady_now.h"

namespace waggle {
namespace {

// Limits of commits whose answers wait. The limits of connections and calls (docs/replay.md) bound their memory.
constexpr size_t kMaxCommits = 64;
constexpr int64_t kMaxAnswers = 4096;

Executor::LaneOptions AnswerLimits() {
  Executor::LaneOptions options;
  options.max_queued = kMaxCommits;
  options.max_queued_bytes = kMaxAnswers;  // A task's bytes are its number of answers.
  return options;
}

}  // namespace

Journal::Journal(std::shared_ptr<Database> database, const SavedState& saved, JournalOptions options)
    : database_(std::move(database)),
      options_(std::move(options)),
      ledger_(saved.ledger != nullptr ? saved.ledger : std::make_shared<BlockLedger>(1)),
      next_number_(saved.next_number),
      health_(options_.folder),
      last_checkpoint_(SteadyNow()),
      answerer_(std::make_unique<Executor>("answers", 1, kMaxCommits)),
      answers_(answerer_.get(), AnswerLimits()) {
  for (const SavedWriter& writer : saved.writers) {
    JournalWriter& known = state_.writers[writer.number];
    known.id = writer.id;
    known.described = true;
    known.sequence = writer.sequence;
    for (const auto& [table, mark] : writer.marks) {
      known.marks[mark.table] = mark;
    }
    for (const StreamRecord& stream : writer.streams) {
      for (const StreamRecord::Part& part : stream.parts) {
        known.streams[stream.stream].push_back(part.chunk);
      }
    }
  }
  state_.gone.logged = saved.orphans;
  {
    MutexLock lock(&mutex_);
    work_.housekeeping = !saved.orphans.empty();
  }
  thread_ = Thread("journal", [this] { Run(); });
}

Journal::~Journal() {
  Stop();
}

absl::Status Journal::StoppedError() {
  return absl::CancelledError("the journal has stopped");
}

void Journal::AfterCommit(Answer answer) {
  {
    MutexLock lock(&mutex_);
    if (!stopped_) {
      work_.answers.push_back(std::move(answer));
      health_.CommitAwaited();
      changed_.Signal();
      return;
    }
  }
  answer(StoppedError());
}

void Journal::AddTable(std::shared_ptr<Table> table, const std::shared_ptr<Table>& replaced) {
  MutexLock lock(&mutex_);
  work_.new_tables.push_back(std::move(table));
  if (replaced != nullptr) {
    work_.dropped_tables.push_back(replaced);
    work_.housekeeping = true;
    changed_.Signal();
  }
}

void Journal::DropTable(const std::shared_ptr<Table>& table) {
  MutexLock lock(&mutex_);
  work_.dropped_tables.push_back(table);
  work_.housekeeping = true;
  changed_.Signal();
}

void Journal::AddWriter(const std::string& id, std::weak_ptr<WriterSession> session) {
  MutexLock lock(&mutex_);
  new_writers_.emplace_back(id, std::move(session));
}

void Journal::ForgetWriter(uint64_t number) {
  MutexLock lock(&mutex_);
  forgotten_writers_.push_back(number);
}

void Journal::Checkpoint(CheckpointDone done, std::optional<CutRequest> cut) {
  {
    MutexLock lock(&mutex_);
    if (!stopped_) {
      work_.checkpoints.push_back({std::move(done), std::move(cut)});
      changed_.Signal();
      return;
    }
  }
  done(StoppedError());
}

void Journal::Stop() {
  End(/*abandon=*/false);
}

void Journal::Abandon() {
  End(/*abandon=*/true);
}

void Journal::End(bool abandon) {
  {
    MutexLock lock(&mutex_);
    work_.stop = true;
    work_.abandon = abandon;
    changed_.Signal();
  }
  thread_.Join();
  answerer_ = nullptr;  // Runs the remaining answers.
}

Journal::Work Journal::AwaitWork() {
  MutexLock lock(&mutex_);
  for (;;) {
    const absl::Duration due = last_checkpoint_ + options_.checkpoint_period - SteadyNow();
    if (!work_.answers.empty() || !work_.checkpoints.empty() || work_.housekeeping || work_.stop ||
        due <= absl::ZeroDuration()) {
      Work work = std::move(work_);
      work_ = Work();
      work_.stop = work.stop;
      health_.CommitBegins();
      return work;
    }
    changed_.WaitFor(&mutex_, due);
  }
}

void Journal::Run() {
  for (;;) {
    Work work = AwaitWork();
    if (work.abandon) {
      CallBack(std::move(work.answers), StoppedError());
      break;
    }
    for (std::shared_ptr<Table>& table : work.new_tables) {
      const uint64_t number = table->number();
      state_.tables[number].table = std::move(table);
    }
    uint64_t items = 0;
    const absl::Status committed = Commit(/*checkpoint=*/false, work.dropped_tables, &items);
    if (committed.ok()) {
      WAGGLE_FAILPOINT("journal.before_ack").IgnoreError();
    }
    CallBack(std::move(work.answers), committed);
    health_.CommitEnds();
    if (work.stop || !work.checkpoints.empty() || last_checkpoint_ + options_.checkpoint_period <= SteadyNow()) {
      MakeCheckpoint(std::move(work.checkpoints));
    }
    // The changes of a write that was given up are lost, and later ones may refer to them.
    if (work.stop || gave_up_) {
      break;
    }
  }
  Work left;
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
    left = std::move(work_);
    work_ = Work();
  }
  CallBack(std::move(left.answers), StoppedError());
  for (const CheckpointRequest& request : left.checkpoints) {
    request.done(StoppedError());
  }
}

void Journal::CallBack(std::vector<Answer> answers, const absl::Status& status) {
  if (answers.empty()) {
    return;
  }
  const auto count = static_cast<int64_t>(answers.size());
  auto shared = std::make_shared<std::vector<Answer>>(std::move(answers));
  const auto call = [shared, status] {
    for (Answer& answer : *shared) {
      answer(status);
      answer = nullptr;  // Frees its rows before the next call.
    }
  };
  if (!answers_.SubmitBytes(count, call).ok()) {
    call();
  }
}

// Called after the tables' changes were taken: writers of those changes have registered by then.
void Journal::TakeRegistrations() {
  NewWriters writers;
  {
    MutexLock lock(&mutex_);
    writers.swap(new_writers_);
  }
  for (const auto& [id, weak] : writers) {
    if (const std::shared_ptr<WriterSession> session = weak.lock(); session != nullptr) {
      state_.AddWriter(id, session);
    }
  }
}

void Journal::MakeCheckpoint(std::vector<CheckpointRequest> requests) {
  CheckpointInfo info;
  health_.CheckpointBegins();
  absl::Status status = Commit(/*checkpoint=*/true, {}, &info.items);
  if (status.ok() && options_.keep != nullptr) {
    WAGGLE_FAILPOINT("checkpoint.before_link").IgnoreError();
    const absl::StatusOr<uint64_t> number = options_.keep(database_.get());
    status = number.status();
    info.number = number.value_or(0);
  }
  last_checkpoint_ = SteadyNow();
  health_.CheckpointEnds(status, info.number);
  if (status.ok()) {
    LogInfo("checkpoint ", info.number, ": ", info.items, " items had changed that were not logged");
  } else {
    LogError("no checkpoint was kept: ", status.message());
  }
  std::vector<Answer> answers;
  for (CheckpointRequest& request : requests) {
    absl::Status kept = status;
    if (kept.ok() && request.cut.has_value() && options_.keep_cut != nullptr) {
      kept = options_.keep_cut(database_.get(), *request.cut);
    }
    answers.emplace_back([done = std::move(request.done), kept, info](const absl::Status& /*always_ok*/) {
      done(kept.ok() ? absl::StatusOr<CheckpointInfo>(info) : absl::StatusOr<CheckpointInfo>(kept));
    });
  }
  CallBack(std::move(answers), absl::OkStatus());
}

}  // namespace waggle
