#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/api/replay.h"
#include "common/base/mutex.h"
#include "replay_server/items/table_log.h"
#include "replay_server/rows/row_layout.h"
#include "replay_server/table/after_lock.h"
#include "replay_server/table/table.h"
#include "replay_server/writers/block_checks.h"
#include "replay_server/writers/held_rows.h"
#include "replay_server/writers/writer_change_log.h"
#include "replay_server/writers/writer_memory.h"

namespace waggle {

// One writer's streams on one server: turns its blocks into chunks and items, and applies each block once. It outlives
// the connection, so that a writer that comes back goes on where it was. Thread-safe, though a writer uses one at a
// time.
class WriterSession : public std::enable_shared_from_this<WriterSession> {
 public:
  // Items inserted, and items whose windows reach back to rows that this server does not have.
  using Result = WriterCounts;
  using Done = std::function<void(absl::StatusOr<Result>)>;

  // The tables have this signature, and one and the same compression; there is at least one. `writer_id` is for people
  // who ask. Must be owned by a shared pointer. `log` outlives the session; null where all is in memory only. `saved`,
  // if given, is what it goes on from. `memory` is all writers'; null where only the options' limits hold.
  WriterSession(std::vector<std::shared_ptr<Table>> tables, std::vector<ArraySpec> signature,
                WriterSessionOptions options, const std::string& writer_id = "", TableLog* log = nullptr,
                const SavedWriter* saved = nullptr, std::shared_ptr<WriterMemory> memory = nullptr);
  ~WriterSession();

  // Makes the session this writer's: each draws a number for itself, and keeps it when it comes back.
  // FAILED_PRECONDITION for a number that is not that of the first one: its blocks would be taken for the first one's,
  // sent again.
  absl::Status Claim(uint64_t incarnation);

  // Its stream has ended with all acknowledged that came of it: another writer may have its id. It may come back all
  // the same, and claims the session then.
  void SetEnded() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether that is so, and nothing of it waits.
  bool ended() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Applies block `sequence`: checks it, copies its rows out of `block.data` once, and inserts its items. Calls `done`
  // when they are all in their tables, possibly before returning, possibly much later on another thread; where these
  // have a memory_limit, not before there is room for more rows. Blocks are answered in their order.
  //
  // A sequence that is applied already is answered at once and not applied again. One that is still being applied is
  // answered when it is, to whoever sent it last. INVALID_ARGUMENT, with nothing applied, for a block that can never be
  // right (sizes that do not fit, a stream's rows out of order, a window longer than the table allows or past the last
  // row, a value that is not finite, a bad priority); DATA_LOSS, with nothing applied, for rows that do not have the
  // block's checksum; FAILED_PRECONDITION for a sequence that leaves a gap;
  // RESOURCE_EXHAUSTED, with nothing applied, for more than the options allow, for rows that all writers together may
  // not hold, for an item whose rows alone are more than its table's max_bytes, and if too many blocks wait for room.
  // CANCELLED once a table is closed. UNAVAILABLE, with nothing applied, while what is inserted could not be written to
  // disk although a table asks for that.
  void Insert(uint64_t sequence, InsertBlock block, Done done);

  // To be held by whoever has a connection to the writer.
  Requester::Presence Connect() const { return Requester::Presence(requesters_); }

  struct Progress {
    uint64_t sequence = 0;  // The last one that is applied, 0 if none.
    Result items;           // Of all blocks that are applied.
    uint64_t durable = 0;   // All up to this one outlive the server, as far as is known by now.
  };
  Progress progress() const;
  uint64_t applied_sequence() const { return progress().sequence; }

  // Blocks that have come and are not answered yet, and their bytes.
  struct Unanswered {
    int64_t blocks = 0;
    int64_t bytes = 0;
  };
  Unanswered unanswered() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return broken_.ok() ? Unanswered{static_cast<int64_t>(waiting_.size()), waiting_bytes_} : Unanswered();
  }

  // The memory that this writer keeps alive beside what its tables' items do: rows held for windows to come, and blocks
  // that wait. Rows that items share with it are counted here and there.
  int64_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }
  // Makes that as little as can be: for a writer that may not come back.
  void Shrink();

  // What the log needs. A number that no other writer has, 0 where nothing is written down.
  uint64_t number() const { return number_; }
  // The block that it went on behind: 0 for a new one.
  uint64_t first_sequence() const { return first_sequence_; }
  uint64_t incarnation() const ABSL_LOCKS_EXCLUDED(mutex_);
  // From now on TakeChanges can be asked for any block that is applied by now, until it was called.
  void HoldChanges() ABSL_LOCKS_EXCLUDED(mutex_);
  // What has changed since the last time, as of when block `sequence` was taken in, or an earlier one for which tables
  // that are not logged still wait: it is to come again, for them. `sequence` is at least that of the last time, and
  // the last one that was applied when HoldChanges was called, or now.
  WriterChanges TakeChanges(uint64_t sequence) ABSL_LOCKS_EXCLUDED(mutex_);
  // Told after a write: the writer is on disk as of block `sequence`, and all blocks up to `durable` are, for all of
  // its tables.
  void SetWritten(uint64_t sequence, uint64_t durable) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::vector<std::shared_ptr<Table>>& tables() const { return tables_; }
  const std::vector<ArraySpec>& signature() const { return rows_->signature; }

 private:
  struct WaitingBlock {
    Result result;
    int64_t bytes = 0;
    absl::Status status;
    int64_t answers_left = 0;   // Of its tables, and of the tier of its rows.
    int64_t unlogged_left = 0;  // Of its tables that are not logged.
    Done done;                  // Null once it is answered.
  };
  using ItemsByTable = std::vector<std::vector<NewItem>>;
  enum class TakenIn { kNew, kWaitsAlready, kAppliedBefore };
  // A block on its way into the tables.
  struct EnteringBlock {
    uint64_t sequence = 0;
    ItemsByTable items;
    std::vector<uint64_t> skipped;  // By table: how many items are in already, and not among these.
  };

  // Takes a block in, if it is new: checks it, copies its rows, extends the streams and makes the items.
  absl::StatusOr<TakenIn> TakeIn(uint64_t sequence, const InsertBlock& block, Done* done);
  // RESOURCE_EXHAUSTED if all writers would need too much memory with these streams.
  absl::Status CountNeeded(const HeldRows::Ranges& streams) ABSL_EXCLUSIVE_LOCKS_REQUIRED(insert_mutex_);
  // Has a block wait that has these streams and items.
  void Accept(uint64_t sequence, const InsertBlock& block, const HeldRows::Ranges& streams, ItemsByTable items,
              WaitingBlock waiting) ABSL_EXCLUSIVE_LOCKS_REQUIRED(insert_mutex_) ABSL_LOCKS_EXCLUDED(mutex_);
  // See Shrink().
  void ShrinkHeld(std::vector<StreamRecord>* replaced) ABSL_EXCLUSIVE_LOCKS_REQUIRED(insert_mutex_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Gives the tables what was taken in, in that order, whichever threads have brought it.
  void EnterTables() ABSL_LOCKS_EXCLUDED(mutex_);
  void Enter(EnteringBlock* block) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether it is new and may be taken in.
  absl::StatusOr<TakenIn> CheckSequence(uint64_t sequence, const InsertBlock& block, Done* done);
  absl::StatusOr<std::vector<ChunkRef>> CopyRows(const InsertBlock& block) const;
  // RESOURCE_EXHAUSTED if their windows have too many chunks together.
  absl::StatusOr<ItemsByTable> MakeItems(const InsertBlock& block, WaitingBlock* waiting) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(insert_mutex_);
  // Where this is not the block that was sent under this number before the server was restarted, what was known of
  // those that were is forgotten.
  void ForgetSavedUnlessKnown(uint64_t sequence, uint64_t fingerprint) ABSL_EXCLUSIVE_LOCKS_REQUIRED(insert_mutex_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // By table, how many of the block's items were in before the server was restarted.
  std::vector<uint64_t> CountSaved(uint64_t sequence, const ItemsByTable& items) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(insert_mutex_) ABSL_LOCKS_EXCLUDED(mutex_);
  void CountHeldBytes() ABSL_EXCLUSIVE_LOCKS_REQUIRED(insert_mutex_);
  // One of the block's tables has all its items, or will not have them; or there is room for more rows.
  void AnswerOne(uint64_t sequence, bool of_unlogged, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // The block up to which all is known and tables that are not logged have all.
  uint64_t InUnloggedLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Has it written down how far it is.
  void WriteProgress() ABSL_LOCKS_EXCLUDED(mutex_);
  // That is done, or will not be.
  void ProgressWritten(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  // Answers what can be by now, in order.
  void AnswerLocked(Actions* actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::vector<std::shared_ptr<Table>> tables_;
  std::vector<std::shared_ptr<Requester>> requesters_;  // What it is in each of them. Constant.
  const std::shared_ptr<const RowLayout> rows_;
  const WriterSessionOptions options_;
  const BlockChecks checks_;
  TableLog* const log_;  // Null where nothing is written down.
  const uint64_t number_;
  const uint64_t first_sequence_;
  const BlockHome home_;
  const std::shared_ptr<WriterMemory> memory_;
  const int64_t unlogged_;  // How many of its tables are not logged.
  // Blocks are answered once it is on disk as of them: it has logged tables, and their commits may come before others
  // of its tables have a block.
  const bool awaits_progress_;

  Mutex insert_mutex_;  // Held while a block is taken in; before mutex_.
  HeldRows held_ ABSL_GUARDED_BY(insert_mutex_);
  int64_t counted_ ABSL_GUARDED_BY(insert_mutex_) = 0;                  // Of held_, in held_bytes_ and in memory_.
  int64_t needed_ ABSL_GUARDED_BY(insert_mutex_) = 0;                   // The same, at the least, in memory_.
  std::vector<WriterMark> saved_marks_ ABSL_GUARDED_BY(insert_mutex_);  // By table; what belongs to the saved blocks.
  std::atomic<int64_t> held_bytes_{0};                                  // Atomic: read while a block is taken in.

  mutable Mutex mutex_;
  std::optional<uint64_t> incarnation_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t applied_ ABSL_GUARDED_BY(mutex_) = 0;
  Result applied_items_ ABSL_GUARDED_BY(mutex_);
  // Sequences applied_ + 1, applied_ + 2, … Where one fails, it and what follows stay, answered.
  std::deque<WaitingBlock> waiting_ ABSL_GUARDED_BY(mutex_);
  int64_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<EnteringBlock> entering_ ABSL_GUARDED_BY(mutex_);
  bool is_entering_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t written_ ABSL_GUARDED_BY(mutex_) = 0;  // As of that block it is on disk.
  uint64_t durable_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;     // ProgressWritten is to come.
  WriterChangeLog changes_ ABSL_GUARDED_BY(mutex_);  // Nothing without a log.
  bool hold_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status broken_ ABSL_GUARDED_BY(mutex_);  // Why no later block can be applied.
};

}  // namespace waggle
