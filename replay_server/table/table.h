#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/threads/mutex.h"
#include "common/config/table/batch_layout.h"
#include "common/config/table/table_config.h"
#include "common/replay/ports/replay.h"
#include "replay_server/batches/drawn_batch.h"
#include "replay_server/items/insert_times.h"
#include "replay_server/items/table_log.h"
#include "replay_server/items/table_state.h"
#include "replay_server/rows/chunk.h"
#include "replay_server/rows/chunk_tier.h"
#include "replay_server/rows/row_layout.h"
#include "replay_server/table/after_lock.h"
#include "replay_server/table/table_client.h"
#include "replay_server/table/table_picture.h"
#include "replay_server/table/table_view.h"
#include "replay_server/table/waiting_inserts.h"
#include "replay_server/table/waiting_samples.h"
#include "replay_server/table/writer_marks.h"

namespace waggle {

// A table that threads share: TableState under a lock, with queues of requests that wait for room or items.
// Thread-safe. No call blocks, and no callback runs under the lock.
//
// The lock covers index work only. The calling thread frees removed items' rows and calls back after it has released
// the lock. A batch's receiver gathers its rows.
//
// Requests are received in table.cc and served in table_serving.cc. table_records.cc saves and restores, table_view.cc
// shows the table, each with its part of TableState.
class Table : public std::enable_shared_from_this<Table> {
 public:
  // INVALID_ARGUMENT if the configuration is wrong. `seed` decides the draws. `memory` may be shared with other tables;
  // null if only the table's own limit counts. `log` saves the table by its durability, and must outlive it; null if
  // the table is in memory only. `tier` is for rows of a table with a memory_limit; null keeps all rows in memory.
  static absl::StatusOr<std::shared_ptr<Table>> Create(TableConfig config, uint64_t seed,
                                                       std::shared_ptr<MemoryAccount> memory = nullptr,
                                                       TableLog* log = nullptr,
                                                       std::shared_ptr<ChunkTier> tier = nullptr);
  // DATA_LOSS if no table can have been saved like this.
  static absl::Status CheckSaved(const SavedTable& saved);
  // Restores a saved table. DATA_LOSS as above.
  static absl::StatusOr<std::shared_ptr<Table>> Restore(SavedTable saved, std::shared_ptr<MemoryAccount> memory,
                                                        TableLog* log);

  // The initial configuration. Its fixed settings (FixedDifferences) never change.
  const TableConfig& created() const { return created_; }
  const std::string& name() const { return created_.name; }
  int64_t max_window() const { return created_.max_window; }
  int64_t min_window() const { return min_window_; }
  // Rows of an item, with context.
  int64_t max_rows() const { return max_rows_; }

  // The current configuration.
  std::shared_ptr<const TableConfig> config() const;

  struct Reconfigured {
    std::vector<std::string> differences;
    int64_t items_removed = 0;
    uint64_t generation = 0;  // The new configuration's.
    // The rate limiter's new allowance: see RateLimiter.
    double samples_allowed = 0;
    double inserts_allowed = 0;
    std::vector<std::string> waits;  // Reasons why inserts and single samples wait then.
  };
  // Changes the configuration if it is of this generation. ABORTED if it is not, FAILED_PRECONDITION if the change is
  // impossible while the table is in use, INVALID_ARGUMENT if the new one is wrong. Errors and dry runs change nothing.
  absl::StatusOr<Reconfigured> Reconfigure(const TableConfig& config, uint64_t generation, bool dry_run);

  // Inserts items in order as far as the rate limiter allows. The rest waits (see WaitingInserts). Calls `done` once:
  // OK when all are in, CANCELLED if the table is closed first. Windows must lie within their chunks and have at most
  // max_window rows, and priorities must be valid. The caller must bound the number of waiting items. `client` is
  // one of clients(), or null.
  //
  // Here and below, answers of a table of durability "log" wait until the disk has the change. Other threads then call
  // back, with the error if it cannot be written.
  void Insert(std::vector<NewItem> items, TableLog::Answer done, const std::shared_ptr<TableClient>& client = nullptr,
              const BlockOrigin& origin = {});

  using DrawDone = std::function<void(absl::StatusOr<DrawnBatch>)>;
  using SampleDone = std::function<void(absl::StatusOr<SampledBatch>)>;

  // Draws items when the rate limiter allows it and they exist. Waiting batches do not delay others, except by the
  // items that are set aside for the oldest (SetAside). FAILED_PRECONDITION if the limiter can never allow that many at
  // once (the message names the setting), CANCELLED if the table is closed or the request is cancelled,
  // RESOURCE_EXHAUSTED if too many requests wait, INVALID_ARGUMENT if the layout does not fit. `done` may be called by
  // the thread that inserts the awaited item, so large batches are gathered elsewhere.
  //
  // Returns a number for CancelSample; 0 if the request is answered, or will be by this thread before it returns from
  // the outermost callback.
  uint64_t Draw(std::shared_ptr<const BatchLayout> layout, const DrawRequest& request, DrawDone done,
                const std::shared_ptr<TableClient>& client = nullptr);
  // The same, but counts the batch and gathers it into new memory in the thread that calls `done`.
  uint64_t Sample(std::shared_ptr<const BatchLayout> layout, int64_t batch_size, SampleDone done);
  // Answers the request with CANCELLED unless it was answered.
  void CancelSample(uint64_t request);

  // The spans must have one length. INVALID_ARGUMENT, with no change, if a priority is negative or not finite. The
  // last argument names the client, for people.
  absl::StatusOr<PriorityUpdateCounts> UpdatePriorities(absl::Span<const uint64_t> keys,
                                                        absl::Span<const uint64_t> generations,
                                                        absl::Span<const double> priorities,
                                                        absl::string_view who = "");
  // "applied" counts deleted items.
  PriorityUpdateCounts Delete(absl::Span<const uint64_t> keys, absl::Span<const uint64_t> generations);
  // Returns the number of removed items.
  int64_t Clear();

  // Calls `answer` once earlier updates and deletions, and the table itself, are as safe as its durability promises.
  void AfterCommit(const TableLog::Answer& answer) const;
  // UNAVAILABLE while the disk refuses changes of this table.
  absl::Status log_status() const { return logged() ? log_->status() : absl::OkStatus(); }

  // For the log. Unique among tables; 0 without a log.
  uint64_t number() const { return number_; }
  // Holds rows beyond the memory_limit; null without a limit.
  const std::shared_ptr<ChunkTier>& tier() const { return tier_; }
  bool logged() const { return log_ != nullptr && created_.durability == Durability::kLog; }
  // Takes up to `most` of the slots that changed since they were taken last, and all other changes. Slots that change
  // again are taken again, so changes can be copied ahead of TakeChanges without long locks.
  void TakeSomeChanges(size_t most, TableChanges* changes);
  // The number of changed slots.
  size_t changed_slots() const;
  // Takes the tables' changes since the last time. All are locked at once, also while `while_locked` is called.
  static void TakeChanges(const std::vector<std::shared_ptr<Table>>& tables, std::vector<TableChanges>* changes,
                          const std::function<void()>& while_locked);
  // Must be called when the writer sends no more.
  void ForgetWriter(uint64_t writer);
  // Saves the writer's mark with the next commit, even if it has not changed.
  void TouchMark(uint64_t writer);
  // The writer numbers blocks after `sequence` anew, so items of those count no more. Earlier ones may still arrive.
  void RestartMark(uint64_t writer, uint64_t sequence);

  using Info = TableInfo;
  using ItemAddress = waggle::ItemAddress;
  using HeldItem = waggle::HeldItem;
  using Ages = ItemAges;
  Info info() const;

  // Appends the items of slots [first, first + count). Returns true if there are more slots.
  bool ListItems(uint32_t first, uint32_t count, std::vector<ItemAddress>* items) const;
  // Returns those of the items that still exist, in order, as if drawn. Counts nothing.
  std::vector<SampledItem> CopyItems(absl::Span<const ItemAddress> items) const;

  // Writers and samplers. Each must be added before its first request.
  TableClients* clients() { return &clients_; }
  // The input of Explain.
  TablePicture picture() const;

  // For inspection by people. These hold the lock for short times only, however large the table is.

  // Slots per step of Scan.
  static constexpr uint32_t kScanSlots = 4096;
  // Appends the items of the next slots from `slot` (0 at first) on, and advances it. False at the end. Not atomic.
  bool Scan(uint32_t* slot, std::vector<ItemFacts>* items) const;
  // The chunk of each item's first row; null if the item has left.
  std::vector<ChunkRef> FirstChunks(absl::Span<const ItemFacts> items) const;
  std::optional<HeldItem> Hold(uint64_t key) const;
  Ages ages() const;
  const RowLayout& rows() const { return rows_; }

  // Answers all waiting and later requests with CANCELLED.
  void Close();
  // Closes the table and frees its content in this thread, which takes long. Its log must have dropped it before.
  void Discard();

 private:
  Table(TableConfig created, const TableConfig& config, uint64_t seed, std::shared_ptr<MemoryAccount> memory,
        TableLog* log, uint64_t number, std::shared_ptr<ChunkTier> tier);

  void TakeChangesLocked(size_t most, TableChanges* changes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Status CheckRequest(const std::shared_ptr<const BatchLayout>& layout, const DrawRequest& draw)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<Reconfigured> ReconfigureLocked(const TableConfig& config, uint64_t generation, bool dry_run,
                                                 RemovedRows* removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Refuses the batches that the configuration no longer allows.
  void RefuseSamplesLocked(Actions* actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Inserts and samples as far as possible: writers in turns, batches of one size in order.
  void ServeLocked(Actions* actions, RemovedRows* removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Inserts up to `most` of the items as far as possible. If all are in, answers the insert and returns true.
  bool InsertLocked(WaitingInsert* insert, int64_t most, Actions* actions, RemovedRows* removed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool ServeInsertsLocked(Actions* actions, RemovedRows* removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The oldest batch that can be drawn now; null if there is none.
  WaitingSample* NextSampleLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool ServeSamplesLocked(Actions* actions, RemovedRows* removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Appends the reasons why batches wait, for the first few sizes.
  void AddWhySamplesWaitLocked(std::string* text) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const TableConfig created_;
  const int64_t max_rows_;  // Read once an item.
  const int64_t min_window_;
  const RowLayout rows_;
  TableClients clients_;
  TableLog* const log_;  // Null if nothing is saved.
  const uint64_t number_;
  const std::shared_ptr<ChunkTier> tier_;
  mutable Mutex mutex_;
  std::shared_ptr<const TableConfig> config_ ABSL_GUARDED_BY(mutex_);
  uint64_t config_generation_ ABSL_GUARDED_BY(mutex_) = 1;
  mutable TableState state_ ABSL_GUARDED_BY(mutex_);  // Mutable: reading a sum may update it.
  WaitingInserts inserts_ ABSL_GUARDED_BY(mutex_);
  WaitingSamples samples_ ABSL_GUARDED_BY(mutex_);
  // The oldest batch when it last waited, and the number of inserts when it became the oldest. It gets half of the
  // items that come while it is the oldest, however many large ones wait behind it.
  uint64_t set_aside_for_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t set_aside_since_ ABSL_GUARDED_BY(mutex_) = 0;
  // The last valid layout, which the next request usually has too.
  std::shared_ptr<const BatchLayout> checked_layout_ ABSL_GUARDED_BY(mutex_);
  int64_t checked_batch_size_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t last_request_ ABSL_GUARDED_BY(mutex_) = 0;
  InsertTimes insert_times_ ABSL_GUARDED_BY(mutex_);
  int64_t updated_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // When priorities were updated last; 0: never.
  std::string updated_by_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool config_changed_ ABSL_GUARDED_BY(mutex_) = true;  // Since changes were taken.
  WriterMarks marks_ ABSL_GUARDED_BY(mutex_);           // Empty without a log.
};

}  // namespace waggle
