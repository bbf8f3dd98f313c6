#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/api/replay.h"
#include "common/base/mutex.h"
#include "replay_server/table/after_lock.h"
#include "replay_server/table/row_layout.h"
#include "replay_server/table/table.h"

namespace waggle {

struct WriterSessionOptions {
  int64_t max_block_bytes = int64_t{64} << 20;  // Of one block's rows.
  int64_t max_streams = 65536;
};

// One writer's streams on one server: turns its blocks into chunks and items, and applies each block once. It outlives
// the connection, so that a writer that comes back goes on where it was. Thread-safe, though a writer uses one at a
// time.
//
// Of each stream it keeps the newest rows, as many as a table's longest window, because windows of later blocks may
// reach back to them.
class WriterSession : public std::enable_shared_from_this<WriterSession> {
 public:
  struct Result {
    uint64_t items_inserted = 0;
    uint64_t items_without_rows = 0;  // Their windows reach back to rows that this server does not have.
  };
  using Done = std::function<void(absl::StatusOr<Result>)>;

  // The tables have this signature; there is at least one. Must be owned by a shared pointer.
  WriterSession(std::vector<std::shared_ptr<Table>> tables, std::vector<ArraySpec> signature,
                WriterSessionOptions options);

  // Applies block `sequence`: checks it, copies its rows out of `block.data` once, and inserts its items. Calls `done`
  // when they are all in their tables, possibly before returning, possibly much later on another thread. Blocks are
  // answered in their order.
  //
  // A sequence that is applied already is answered at once and not applied again; one that is still being applied is
  // answered when it is. INVALID_ARGUMENT, with nothing applied, for a block that can never be right (sizes that do not
  // fit, a stream's rows out of order, a window longer than the table allows or past the last row, a value that is not
  // finite, a bad priority); FAILED_PRECONDITION for a sequence that leaves a gap; RESOURCE_EXHAUSTED, with nothing
  // applied, if too many blocks wait for room. CANCELLED once a table is closed.
  void Insert(uint64_t sequence, InsertBlock block, Done done);

  // The last sequence that is applied, 0 if none.
  uint64_t applied_sequence() const;

  const std::vector<std::shared_ptr<Table>>& tables() const { return tables_; }
  const std::vector<ArraySpec>& signature() const { return rows_->signature; }

 private:
  struct HeldChunk {
    uint64_t first_row = 0;
    ChunkRef chunk;
  };
  struct Stream {
    uint64_t next_row = 0;
    std::deque<HeldChunk> chunks;  // In order, without a gap, up to next_row.
  };
  struct WaitingBlock {
    Result result;
    absl::Status status;
    int64_t tables_left = 0;
    std::vector<Done> done;
  };
  using NextRows = absl::flat_hash_map<uint32_t, uint64_t>;
  using ItemsByTable = std::vector<std::vector<NewItem>>;
  struct TakenIn {
    enum class Kind { kNew, kWaitsAlready, kAppliedBefore };
    Kind kind = Kind::kNew;
    ItemsByTable items;
  };

  // Takes a block in, if it is new: checks it, copies its rows, extends the streams and makes the items.
  absl::StatusOr<TakenIn> TakeIn(uint64_t sequence, const InsertBlock& block, Done* done);
  // Checks the chunks and their bytes' number; fills in where each of their streams will end.
  absl::Status CheckChunks(const InsertBlock& block, NextRows* next_rows) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(insert_mutex_);
  absl::Status CheckItem(const ItemInfo& item, const NextRows& next_rows) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(insert_mutex_);
  absl::StatusOr<std::vector<ChunkRef>> CopyRows(const InsertBlock& block) const;
  static absl::Status NotFiniteError(const InsertBlock& block, const ArraySpec& column, uint64_t element);
  ItemsByTable MakeItems(const InsertBlock& block, Result* result) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(insert_mutex_);
  // False if its first row is not held.
  bool FindWindow(const ItemInfo& item, Window* window) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(insert_mutex_);
  void ForgetOldRows(Stream* stream) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(insert_mutex_);
  // One of the block's tables has all its items, or will not have them.
  void TableDone(uint64_t sequence, const absl::Status& status);
  // Answers what can be by now, in order.
  void AnswerLocked(Actions* actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::vector<std::shared_ptr<Table>> tables_;
  const std::shared_ptr<const RowLayout> rows_;
  const WriterSessionOptions options_;
  const uint64_t held_rows_;  // Of each stream.

  Mutex insert_mutex_;  // Held while a block is taken in; before mutex_.
  absl::flat_hash_map<uint32_t, Stream> streams_ ABSL_GUARDED_BY(insert_mutex_);

  mutable Mutex mutex_;
  uint64_t applied_ ABSL_GUARDED_BY(mutex_) = 0;
  // Sequences applied_ + 1, applied_ + 2, … Where one fails, it and what follows stay, answered.
  std::deque<WaitingBlock> waiting_ ABSL_GUARDED_BY(mutex_);
  absl::Status broken_ ABSL_GUARDED_BY(mutex_);  // Why no later block can be applied.
};

}  // namespace waggle
