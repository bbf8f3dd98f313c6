#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/threads/mutex.h"
#include "common/replay/ports/replay.h"
#include "replay_server/base/memory_account.h"
#include "replay_server/items/table_log.h"
#include "replay_server/rows/row_layout.h"
#include "replay_server/table/after_lock.h"
#include "replay_server/table/table.h"
#include "replay_server/writers/block_intake.h"
#include "replay_server/writers/writer_change_log.h"

namespace waggle {

// The newest rows of all writers of a server, which are held for windows to come. Rows of items are counted here too,
// because items may leave at any time.
struct WriterAccounts {
  explicit WriterAccounts(int64_t limit = std::numeric_limits<int64_t>::max())
      : needed(std::make_shared<MemoryAccount>(limit)), held(std::make_shared<MemoryAccount>(limit)) {}

  std::shared_ptr<MemoryAccount> needed;  // The rows alone. Past the limit blocks are refused.
  // The blocks that the rows came in, which are larger. Past the limit writers copy rows out of blocks even if that
  // saves little.
  std::shared_ptr<MemoryAccount> held;
};

// One writer's streams on one server. It turns blocks into chunks and items, and applies each block once. It outlives
// connections, so that a returning writer can continue. Thread-safe, though a writer uses one connection at a time.
class WriterSession : public std::enable_shared_from_this<WriterSession> {
 public:
  // Counts of inserted items, and of items over rows that this server does not have.
  using Result = WriterCounts;
  using Done = std::function<void(absl::StatusOr<Result>)>;

  // There must be at least one table. All must have this signature and the same compression. `writer_id` is for people.
  // The session must be owned by a shared pointer. `log` must outlive it; null if all is in memory only. The session
  // continues from `saved`, if given. `memory` is shared by all writers.
  WriterSession(std::vector<std::shared_ptr<Table>> tables, std::vector<ArraySpec> signature,
                WriterSessionOptions options, const std::string& writer_id = "", TableLog* log = nullptr,
                const SavedWriter* saved = nullptr, const WriterAccounts& memory = WriterAccounts());
  ~WriterSession();

  // Assigns the session to a writer. Each writer draws a number and keeps it when it comes back. FAILED_PRECONDITION
  // for any number but the first: that writer's blocks would be taken for repeated ones.
  absl::Status Claim(uint64_t incarnation);

  // Its stream has ended with all blocks acknowledged. Another writer may take its id; it may claim the session again.
  void SetEnded() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    ended_ = true;
  }
  // True from SetEnded until the next Claim, unless a block waits.
  bool ended() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return ended_ && waiting_.empty();
  }

  // Applies block `sequence`: checks it, copies its rows out of `block.data` once, and inserts its items. `done` is
  // called in the order of blocks when all items are in their tables and, if these have a memory_limit, there is room
  // for more rows: before the return, or later by another thread. An applied sequence is answered at once and not
  // applied again. For a sequence that is being applied, only the last `done` is called.
  //
  // Errors but CANCELLED leave the block unapplied. INVALID_ARGUMENT if it can never be right: sizes, row order, a
  // window longer than its table allows or past the last row, a value that is not finite, a bad priority. DATA_LOSS if
  // rows do not have its checksum. FAILED_PRECONDITION for a gap before the sequence. RESOURCE_EXHAUSTED for more than
  // the options or the memory of all writers allow, for an item whose rows exceed its table's max_bytes, and for too
  // many waiting blocks. CANCELLED once a table is closed. UNAVAILABLE if a table must write its items to disk and
  // cannot.
  void Insert(uint64_t sequence, InsertBlock block, Done done);

  // Must be held by each connection of the writer.
  TableClient::Connection Connect() const { return TableClient::Connection(clients_); }

  struct Progress {
    uint64_t sequence = 0;  // The last applied one; 0 if there is none.
    Result items;           // Sum over applied blocks.
    uint64_t durable = 0;   // All blocks up to it survive a crash, as far as is known.
  };
  Progress progress() const;
  uint64_t applied_sequence() const { return progress().sequence; }

  // Received blocks that are not answered yet.
  struct Unanswered {
    int64_t blocks = 0;
    int64_t bytes = 0;
  };
  Unanswered unanswered() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return broken_.ok() ? Unanswered{static_cast<int64_t>(waiting_.size()), waiting_bytes_} : Unanswered();
  }

  // Memory that this writer keeps alive: held rows and waiting blocks. Shared rows count in its tables' items too.
  int64_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }
  // Minimises held_bytes(), for a writer that may not come back.
  void Shrink();

  // For the log. Unique among writers; 0 if the writer is not saved.
  uint64_t number() const { return number_; }
  // The block before its first one: 0 for a new writer.
  uint64_t first_sequence() const { return first_sequence_; }
  uint64_t incarnation() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return incarnation_.value_or(0);
  }
  // Keeps later blocks' changes separate until TakeChanges is called for the present block.
  void HoldChanges() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    hold_ = true;
  }
  // Returns the changes since the last call, up to block `sequence` or to an earlier one if unlogged tables lack later
  // ones, which must come again. `sequence` must not decrease. It is the last block applied now or at HoldChanges.
  WriterChanges TakeChanges(uint64_t sequence) ABSL_LOCKS_EXCLUDED(mutex_);
  // Called after a write: the disk has the state at block `sequence`, and all tables' blocks up to `durable`.
  void SetWritten(uint64_t sequence, uint64_t durable) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::vector<std::shared_ptr<Table>>& tables() const { return tables_; }
  const std::vector<ArraySpec>& signature() const { return rows_->signature; }

 private:
  struct WaitingBlock {
    Result result;
    int64_t bytes = 0;
    absl::Status status;
    int64_t answers_left = 0;   // Answers of its tables and of its rows' tier.
    int64_t unlogged_left = 0;  // Answers of its unlogged tables.
    Done done;                  // Null once called.
  };
  enum class TakenIn { kNew, kWaitsAlready, kAppliedBefore };
  // A block that enters the tables.
  struct EnteringBlock {
    uint64_t sequence = 0;
    ItemsByTable items;
    std::vector<uint64_t> skipped;  // By table: items that it already has, which are left out here.
  };

  // Takes a new block in: checks it, copies its rows, extends the streams and makes the items.
  absl::StatusOr<TakenIn> TakeIn(uint64_t sequence, const InsertBlock& block, Done* done);
  // Appends a block with these items to the waiting ones.
  void Accept(uint64_t sequence, const InsertBlock& block, BlockItems made, Done done)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(insert_mutex_) ABSL_LOCKS_EXCLUDED(mutex_);
  void ShrinkHeld(std::vector<StreamRecord>* replaced) ABSL_EXCLUSIVE_LOCKS_REQUIRED(insert_mutex_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Passes blocks to the tables in order, whichever threads received them.
  void EnterTables() ABSL_LOCKS_EXCLUDED(mutex_);
  void Enter(EnteringBlock* block) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns kNew if the block may be taken in.
  absl::StatusOr<TakenIn> CheckSequence(uint64_t sequence, const InsertBlock& block, Done* done);
  // Forgets the saved blocks unless this is the block that had this sequence before the server restarted.
  void ForgetSavedUnlessKnown(uint64_t sequence, uint64_t fingerprint) ABSL_EXCLUSIVE_LOCKS_REQUIRED(insert_mutex_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void CountHeldBytes() ABSL_EXCLUSIVE_LOCKS_REQUIRED(insert_mutex_);
  // Notes that a table has all of the block's items or refuses them, or that the tier has room.
  void AnswerOne(uint64_t sequence, bool of_unlogged, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // The last block that all unlogged tables have.
  uint64_t InUnloggedLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Saves the progress.
  void WriteProgress() ABSL_LOCKS_EXCLUDED(mutex_);
  // Called when the progress is saved, or cannot be.
  void ProgressWritten(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers complete blocks, in order.
  void AnswerLocked(Actions* actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::vector<std::shared_ptr<Table>> tables_;
  std::vector<std::shared_ptr<TableClient>> clients_;  // One of each table. Constant.
  const std::shared_ptr<const RowLayout> rows_;
  const WriterSessionOptions options_;
  TableLog* const log_;  // Null if the writer is not saved.
  const uint64_t number_;
  const uint64_t first_sequence_;
  const BlockHome home_;
  const int64_t unlogged_;  // Number of unlogged tables.
  // Answers wait for the writer's state on disk: commits of its logged tables may come before others have a block.
  const bool awaits_progress_;

  Mutex insert_mutex_;  // Held while a block is taken in; locked before mutex_.
  BlockIntake intake_ ABSL_GUARDED_BY(insert_mutex_);
  std::atomic<int64_t> held_bytes_{0};  // Atomic: read while a block is taken in.

  mutable Mutex mutex_;
  std::optional<uint64_t> incarnation_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t applied_ ABSL_GUARDED_BY(mutex_) = 0;
  Result applied_items_ ABSL_GUARDED_BY(mutex_);
  // Sequences applied_ + 1, applied_ + 2, … A failed block and later ones stay, answered.
  std::deque<WaitingBlock> waiting_ ABSL_GUARDED_BY(mutex_);
  int64_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<EnteringBlock> entering_ ABSL_GUARDED_BY(mutex_);
  bool is_entering_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t written_ ABSL_GUARDED_BY(mutex_) = 0;  // The disk has the state at this block.
  uint64_t durable_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;     // ProgressWritten will be called.
  WriterChangeLog changes_ ABSL_GUARDED_BY(mutex_);  // Empty without a log.
  bool hold_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status broken_ ABSL_GUARDED_BY(mutex_);  // Why no later block can be applied.
};

}  // namespace waggle
