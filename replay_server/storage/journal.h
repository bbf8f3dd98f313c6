#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "common/base/thread.h"
#include "replay_server/items/table_log.h"
#include "replay_server/storage/database.h"
#include "replay_server/storage/journal_batch.h"
#include "replay_server/storage/journal_health.h"
#include "replay_server/storage/saved_state.h"

namespace waggle {

struct JournalOptions {
  // Between two checkpoints; infinite for none but those that are asked for.
  absl::Duration checkpoint_period = absl::Minutes(5);
  std::string folder;  // That the database is in: what is said to people.
  // Keeps a copy of the database after a checkpoint and returns its number; may be empty.
  std::function<absl::StatusOr<uint64_t>(Database*)> keep;
  // Told of each commit, before whoever waits for it: see DataFolder::NoteCommit. May be empty.
  std::function<void(uint64_t sequence, uint64_t items)> note;
};

// What a checkpoint was.
struct CheckpointInfo {
  uint64_t number = 0;  // Of the copy that is kept; 0 if none is.
  uint64_t items = 0;   // That had changed since the one before.
};

// Writes tables and writers to a database, in one thread: what has changed since the last time is copied under the
// tables' locks, all of it together, and goes to the disk in one atomic write. However often something has changed in
// between, it is written once.
//
// What tables of durability "log" have done is written as soon as somebody waits for it, and all who do by then are
// answered together. What tables of durability "checkpoint" have done is written by checkpoints only, at the same
// moment for all tables. Rows, and what changed long before, are written ahead of that, so that the tables are locked
// for the newest changes only.
//
// While the disk cannot be written to, nobody is answered, status() says why, and the same write is tried again and
// again. Thread-safe.
class Journal final : public TableLog {
 public:
  using CheckpointDone = std::function<void(absl::StatusOr<CheckpointInfo>)>;

  // `saved` is what the database holds, whose tables are added as all others are.
  Journal(std::shared_ptr<Database> database, const SavedState& saved, JournalOptions options);
  // Stops.
  ~Journal() override;

  absl::Status status() const override { return health_.status(); }
  void AfterCommit(Answer answer) override ABSL_LOCKS_EXCLUDED(mutex_);
  const std::shared_ptr<BlockLedger>& ledger() const override { return ledger_; }
  uint64_t NewNumber() override { return next_number_.fetch_add(1); }
  void AddTable(std::shared_ptr<Table> table, const std::shared_ptr<Table>& replaced) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  void DropTable(const std::shared_ptr<Table>& table) override ABSL_LOCKS_EXCLUDED(mutex_);
  void AddWriter(const std::string& id, std::weak_ptr<WriterSession> session) override ABSL_LOCKS_EXCLUDED(mutex_);
  void ForgetWriter(uint64_t number) override ABSL_LOCKS_EXCLUDED(mutex_);

  // Makes a checkpoint as soon as it can; `done` is called by another thread. CANCELLED once stopped.
  void Checkpoint(CheckpointDone done) ABSL_LOCKS_EXCLUDED(mutex_);

  // For people: without what is of one table.
  DiskPicture disk() const { return health_.picture(); }

  // Writes everything down, answers who waits, and ends. Idempotent. After it, AfterCommit answers CANCELLED.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends without writing anything more, and without a checkpoint: of a server that could not start.
  void Abandon() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using NewWriters = std::vector<std::pair<std::string, std::weak_ptr<WriterSession>>>;
  // What has come up since the last write.
  struct Work {
    std::vector<Answer> answers;
    std::vector<CheckpointDone> checkpoints;
    std::vector<std::shared_ptr<Table>> new_tables;
    std::vector<std::shared_ptr<Table>> dropped_tables;
    bool housekeeping = false;  // Something has to be removed, though nobody waits for it.
    bool stop = false;
    bool abandon = false;
  };

  static absl::Status StoppedError();
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  void End(bool abandon) ABSL_LOCKS_EXCLUDED(mutex_);
  Work AwaitWork() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Commit(bool checkpoint, const std::vector<std::shared_ptr<Table>>& dropped, uint64_t* items);
  // Those whose changes are written by a checkpoint, or by any other commit.
  std::vector<std::shared_ptr<Table>> TablesOf(bool checkpoint) const;
  // Where much has changed in the tables, copies it in portions, and writes its rows, so that the cut has little to
  // copy.
  absl::Status CopyAhead(const std::vector<std::shared_ptr<Table>>& tables, JournalBatch* batch);
  // Locks the tables together, takes their changes, and makes their writers keep theirs. Returns those writers.
  std::vector<std::shared_ptr<WriterSession>> TakeCut(bool checkpoint,
                                                      const std::vector<std::shared_ptr<Table>>& tables,
                                                      JournalBatch* batch) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status StoreBlocks(JournalBatch* batch);
  // Tries until it succeeds, or until it has failed and is to stop.
  absl::Status Write(rocksdb::WriteBatch* batch, bool sync);
  bool PauseAfterFailure(const absl::Status& failure) ABSL_LOCKS_EXCLUDED(mutex_);
  void MakeCheckpoint(std::vector<CheckpointDone> done);
  // In the answerer's thread; in this one if too many wait for that, so that no more is written meanwhile.
  void CallBack(std::vector<Answer> answers, const absl::Status& status);
  void TakeRegistrations() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::shared_ptr<Database> database_;
  const JournalOptions options_;
  const std::shared_ptr<BlockLedger> ledger_;
  std::atomic<uint64_t> next_number_;
  JournalHealth health_;

  // The thread's own.
  JournalState state_;
  absl::Time last_checkpoint_;
  bool gave_up_ = false;  // A write has failed until the journal was to stop.

  mutable Mutex mutex_;
  CondVar changed_;
  Work work_ ABSL_GUARDED_BY(mutex_);
  NewWriters new_writers_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint64_t> forgotten_writers_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;

  std::unique_ptr<Executor> answerer_;  // Calls back, so that the next write need not wait for that.
  Executor::Lane answers_;              // The answerer's only one.
  Thread thread_;                       // Last: it uses everything above.
};

}  // namespace waggle
