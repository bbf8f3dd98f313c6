#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/threads/executor.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/thread.h"
#include "replay_server/items/table_log.h"
#include "replay_server/storage/cut_request.h"
#include "replay_server/storage/database.h"
#include "replay_server/storage/journal_batch.h"
#include "replay_server/storage/journal_health.h"
#include "replay_server/storage/saved_state.h"

namespace waggle {

struct JournalOptions {
  // Time between checkpoints; infinite for requested ones only.
  absl::Duration checkpoint_period = absl::Minutes(5);
  std::string folder;  // The database's folder, for messages.
  // Keeps a copy of the database after a checkpoint and returns its number. May be empty.
  std::function<absl::StatusOr<uint64_t>(Database*)> keep;
  // Keeps a copy of the database as a part of a cut. May be empty.
  std::function<absl::Status(Database*, const CutRequest&)> keep_cut;
  // Called for each commit before its answers: see DataFolder::NoteCommit. May be empty.
  std::function<void(uint64_t sequence, uint64_t items)> note;
};

struct CheckpointInfo {
  uint64_t number = 0;  // The copy's number; 0 if none was kept.
  uint64_t items = 0;   // Items that changed since the last checkpoint.
};

// Writes tables and writers to a database, in one thread. It copies all changes since the last write under the tables'
// locks, and writes them atomically. Several changes of one record are written once.
//
// Changes of tables of durability "log" are written as soon as a caller waits for them; all callers that wait by then
// are answered together. Changes of tables of durability "checkpoint" are written by checkpoints only, of all tables at
// the same moment. Rows and older changes are written ahead, so that the tables are locked for the newest changes only.
//
// If the disk cannot be written, answers wait, status() says why, and the write is retried. Thread-safe.
class Journal final : public TableLog {
 public:
  using CheckpointDone = std::function<void(absl::StatusOr<CheckpointInfo>)>;

  // `saved` is the database's content. Its tables must be added like others.
  Journal(std::shared_ptr<Database> database, const SavedState& saved, JournalOptions options);
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

  // Makes a checkpoint soon, and keeps it as a cut if that is asked for. Another thread calls `done`. CANCELLED after
  // Stop.
  void Checkpoint(CheckpointDone done, std::optional<CutRequest> cut = std::nullopt) ABSL_LOCKS_EXCLUDED(mutex_);

  // For people. Leaves out the table's own part.
  DiskPicture disk() const { return health_.picture(); }

  // Writes all changes, answers all callers, and ends. Idempotent. Later calls of AfterCommit are answered CANCELLED.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends without another write, for a server that could not start.
  void Abandon() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using NewWriters = std::vector<std::pair<std::string, std::weak_ptr<WriterSession>>>;
  struct CheckpointRequest {
    CheckpointDone done;
    std::optional<CutRequest> cut;
  };
  // Requests since the last write.
  struct Work {
    std::vector<Answer> answers;
    std::vector<CheckpointRequest> checkpoints;
    std::vector<std::shared_ptr<Table>> new_tables;
    std::vector<std::shared_ptr<Table>> dropped_tables;
    bool housekeeping = false;  // Records must be deleted, though no caller waits for it.
    bool stop = false;
    bool abandon = false;
  };

  static absl::Status StoppedError();
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  void End(bool abandon) ABSL_LOCKS_EXCLUDED(mutex_);
  Work AwaitWork() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Commit(bool checkpoint, const std::vector<std::shared_ptr<Table>>& dropped, uint64_t* items);
  // The tables whose changes a checkpoint, or any other commit, writes.
  std::vector<std::shared_ptr<Table>> TablesOf(bool checkpoint) const;
  // If tables have many changes, copies them in portions and writes their rows, so that the cut is short.
  absl::Status CopyAhead(const std::vector<std::shared_ptr<Table>>& tables, JournalBatch* batch);
  // Locks the tables together, takes their changes and makes their writers hold theirs. Returns those writers.
  std::vector<std::shared_ptr<WriterSession>> TakeCut(bool checkpoint,
                                                      const std::vector<std::shared_ptr<Table>>& tables,
                                                      JournalBatch* batch) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status StoreBlocks(JournalBatch* batch);
  // Retries until it succeeds, or until it has failed and the journal must stop.
  absl::Status Write(rocksdb::WriteBatch* batch, bool sync);
  bool PauseAfterFailure(const absl::Status& failure) ABSL_LOCKS_EXCLUDED(mutex_);
  void MakeCheckpoint(std::vector<CheckpointRequest> requests);
  // Calls the answers in the answerer's thread, or in this one if that has too many, which delays the next write.
  void CallBack(std::vector<Answer> answers, const absl::Status& status);
  void TakeRegistrations() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::shared_ptr<Database> database_;
  const JournalOptions options_;
  const std::shared_ptr<BlockLedger> ledger_;
  std::atomic<uint64_t> next_number_;
  JournalHealth health_;

  // Used by the thread only.
  JournalState state_;
  absl::Time last_checkpoint_;
  bool gave_up_ = false;  // A write failed until the journal had to stop.

  mutable Mutex mutex_;
  CondVar changed_;
  Work work_ ABSL_GUARDED_BY(mutex_);
  NewWriters new_writers_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint64_t> forgotten_writers_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;

  std::unique_ptr<Executor> answerer_;  // Calls back, so that the next write need not wait.
  Executor::Lane answers_;              // The answerer's only one.
  Thread thread_;                       // Last: it uses the members above.
};

}  // namespace waggle
