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
#include "common/api/replay.h"
#include "common/base/mutex.h"
#include "common/table_config/batch_layout.h"
#include "common/table_config/table_config.h"
#include "replay_server/batches/drawn_batch.h"
#include "replay_server/items/insert_times.h"
#include "replay_server/items/table_log.h"
#include "replay_server/items/table_state.h"
#include "replay_server/rows/chunk.h"
#include "replay_server/rows/chunk_tier.h"
#include "replay_server/rows/row_layout.h"
#include "replay_server/table/after_lock.h"
#include "replay_server/table/requester.h"
#include "replay_server/table/table_picture.h"
#include "replay_server/table/table_view.h"
#include "replay_server/table/waiting_inserts.h"
#include "replay_server/table/waiting_samples.h"
#include "replay_server/table/writer_marks.h"

namespace waggle {

// A table that many threads share: TableState under a lock, with those who wait for room or for items queued as
// requests, never as blocked threads. Thread-safe. No call blocks, and no callback runs under the lock.
//
// The lock covers index work only. Freeing the rows of removed items and calling back are done by whichever thread
// called, after it has released the lock; the rows of a sampled batch are gathered by whom they are for.
//
// What takes requests in is in table.cc; how those that wait are served in table_serving.cc, how it is written down and
// comes back in table_records.cc; how it is shown in table_view.cc, each with what it asks of TableState.
class Table : public std::enable_shared_from_this<Table> {
 public:
  // INVALID_ARGUMENT if the configuration is wrong. `seed` decides what is sampled. `memory` may be shared with other
  // tables; null where only the table's own limit holds.
  // `log` outlives the table, and writes down what its durability asks for; null for a table that is in memory only.
  // `tier` is for its rows, if it has a memory_limit; without one they all stay in memory.
  static absl::StatusOr<std::shared_ptr<Table>> Create(TableConfig config, uint64_t seed,
                                                       std::shared_ptr<MemoryUse> memory = nullptr,
                                                       TableLog* log = nullptr,
                                                       std::shared_ptr<ChunkTier> tier = nullptr);
  // DATA_LOSS for a saved table that cannot have been like that.
  static absl::Status CheckSaved(const SavedTable& saved);
  // The table that was saved. The same DATA_LOSS.
  static absl::StatusOr<std::shared_ptr<Table>> Restore(SavedTable saved, std::shared_ptr<MemoryUse> memory,
                                                        TableLog* log);

  // As it was created: what of it cannot be changed (FixedDifferences) holds for ever.
  const TableConfig& created() const { return created_; }
  const std::string& name() const { return created_.name; }
  int64_t max_window() const { return created_.max_window; }
  int64_t min_window() const { return min_window_; }
  // Of an item, its context included.
  int64_t max_rows() const { return max_rows_; }

  // As it is now.
  std::shared_ptr<const TableConfig> config() const;

  struct Reconfigured {
    std::vector<std::string> differences;
    int64_t items_removed = 0;
    uint64_t generation = 0;  // Of the configuration, afterwards.
    // What the rate limiter allows then: see RateLimiter.
    double samples_allowed = 0;
    double inserts_allowed = 0;
    std::vector<std::string> waits;  // In words, for what inserts and single samples wait then.
  };
  // Changes the configuration, which is of this generation: ABORTED if it is not, FAILED_PRECONDITION for a change that
  // cannot be made while the table is in use, INVALID_ARGUMENT for a configuration that is wrong. Nothing is changed
  // then, nor by a dry run.
  absl::StatusOr<Reconfigured> Reconfigure(const TableConfig& config, uint64_t generation, bool dry_run);

  // Inserts items, in their order, as far as the rate limiter lets it; the rest waits its turn (see WaitingInserts).
  // Calls `done` once: OK when all are in, CANCELLED if the table is closed first. The windows lie within their
  // chunks and have at most max_window rows, and the priorities are valid. How much may wait is for the caller to
  // bound. `requester` is one of requesters(), or null.
  //
  // Here and below, what a table of durability "log" answers waits until it is on disk: other threads call back then,
  // with the reason if it will not be.
  void Insert(std::vector<NewItem> items, TableLog::Answer done, const std::shared_ptr<Requester>& requester = nullptr,
              const BlockOrigin& origin = {});

  using DrawDone = std::function<void(absl::StatusOr<DrawnBatch>)>;
  using SampleDone = std::function<void(absl::StatusOr<SampledBatch>)>;

  // Draws items as soon as the rate limiter allows it and they are there. Batches that have to wait do not keep others
  // waiting that can be drawn, but for what is set aside for the one that came first (SetAside). FAILED_PRECONDITION if
  // the limiter could never allow that many at once (the message says which setting is too small); CANCELLED if the
  // table is closed or the request is cancelled; RESOURCE_EXHAUSTED if too many requests wait already; INVALID_ARGUMENT
  // if the layout is not that of such a batch. `done` may be called by whoever inserts the item that was waited for:
  // large batches are gathered elsewhere.
  //
  // Returns a number by which the request can be cancelled; 0 if it is answered, or will be by this thread before it
  // returns from the outermost callback.
  uint64_t Draw(std::shared_ptr<const BatchLayout> layout, const DrawRequest& request, DrawDone done,
                const std::shared_ptr<Requester>& requester = nullptr);
  // The same for a batch that is counted as what it is, gathered in whichever thread calls `done`, in new memory.
  uint64_t Sample(std::shared_ptr<const BatchLayout> layout, int64_t batch_size, SampleDone done);
  // The request's callback is called with CANCELLED unless it was answered already.
  void CancelSample(uint64_t request);

  // The spans have one length. INVALID_ARGUMENT, with nothing applied, for a priority that is negative or not finite.
  // `who` asks for it, for people who want to know.
  absl::StatusOr<PriorityUpdateCounts> UpdatePriorities(absl::Span<const uint64_t> keys,
                                                        absl::Span<const uint64_t> generations,
                                                        absl::Span<const double> priorities,
                                                        absl::string_view who = "");
  // "applied" counts what was deleted.
  PriorityUpdateCounts Delete(absl::Span<const uint64_t> keys, absl::Span<const uint64_t> generations);
  // Returns how many items there were.
  int64_t Clear();

  // Calls `answer` once what was done before is as safe as the table's durability promises: updates, deletions and the
  // table itself are there before that.
  void AfterCommit(const TableLog::Answer& answer) const;
  // UNAVAILABLE while that could not be kept, because the disk refuses.
  absl::Status log_status() const { return logged() ? log_->status() : absl::OkStatus(); }

  // What its log needs. A number that no other table has, 0 without a log.
  uint64_t number() const { return number_; }
  // Where rows past its memory_limit go; null where it has none.
  const std::shared_ptr<ChunkTier>& tier() const { return tier_; }
  bool logged() const { return log_ != nullptr && created_.durability == Durability::kLog; }
  // Hands over up to `most` of the slots that have changed since they were handed over last, with all else that has:
  // what changes again is handed over again. So much can be copied ahead of TakeChanges without holding anybody up.
  void TakeSomeChanges(size_t most, TableChanges* changes);
  // How many slots there are to hand over.
  size_t changed_slots() const;
  // Hands over what has changed in the tables since it was handed over last. All of them are locked together, for as
  // long as copying that takes; `while_locked` is called meanwhile.
  static void TakeChanges(const std::vector<std::shared_ptr<Table>>& tables, std::vector<TableChanges>* changes,
                          const std::function<void()>& while_locked);
  // The writer will send no more.
  void ForgetWriter(uint64_t writer);
  // The writer is to be written down with the next commit, though nothing of it has changed here.
  void TouchMark(uint64_t writer);
  // The writer numbers its blocks anew after block `sequence`: what is in of those that had these numbers counts no
  // more. Those up to that one may still be on their way, or half in.
  void RestartMark(uint64_t writer, uint64_t sequence);

  using Info = TableInfo;
  using ItemAddress = waggle::ItemAddress;
  using HeldItem = waggle::HeldItem;
  using Ages = ItemAges;
  // A picture of the table for people and for metrics.
  Info info() const;

  // Appends the items of slots [first, first + count). Returns whether there are slots beyond.
  bool ListItems(uint32_t first, uint32_t count, std::vector<ItemAddress>* items) const;
  // Those of the items that are still there, in this order, as if they had been drawn; nothing is counted.
  std::vector<SampledItem> CopyItems(absl::Span<const ItemAddress> items) const;

  // Who writes to it and samples from it: everyone is to be added before the first request.
  Requesters* requesters() { return &requesters_; }
  // What Explain goes by.
  TablePicture picture() const;

  // For people who look into a table: nothing of this holds its lock for long, however large the table is.

  // How many slots a step of a scan looks at.
  static constexpr uint32_t kScanSlots = 4096;
  // Appends the items in the next slots from `slot` (0 at first) on, and moves it past them. False once there are no
  // more. Between two steps items may come and go.
  bool Scan(uint32_t* slot, std::vector<ItemFacts>* items) const;
  // The chunk with each item's first row; none where the item has left.
  std::vector<ChunkRef> FirstChunks(absl::Span<const ItemFacts> items) const;
  std::optional<HeldItem> Hold(uint64_t key) const;
  Ages ages() const;
  const RowLayout& rows() const { return rows_; }

  // Answers every waiting request with CANCELLED, and every later one.
  void Close();
  // Closes it and frees all that it holds, in this thread, which takes long for many items. Its log, which has dropped
  // it, does not hear of that.
  void Discard();

 private:
  Table(TableConfig created, const TableConfig& config, uint64_t seed, std::shared_ptr<MemoryUse> memory, TableLog* log,
        uint64_t number, std::shared_ptr<ChunkTier> tier);

  void TakeChangesLocked(size_t most, TableChanges* changes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Status CheckRequest(const std::shared_ptr<const BatchLayout>& layout, const DrawRequest& draw)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<Reconfigured> ReconfigureLocked(const TableConfig& config, uint64_t generation, bool dry_run,
                                                 RemovedRows* removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Refuses the requests for batches that the configuration does not allow any more.
  void RefuseSamplesLocked(Actions* actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Inserts and samples what can be by now: writers in turns, batches of one size in their order.
  void ServeLocked(Actions* actions, RemovedRows* removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Inserts up to `most` of the items as far as that can be by now. Returns whether all are in; it is answered then.
  bool InsertLocked(WaitingInsert* insert, int64_t most, Actions* actions, RemovedRows* removed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool ServeInsertsLocked(Actions* actions, RemovedRows* removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The batch that is to be drawn now: the one that came first among those that can be; null where there is none.
  WaitingSample* NextSampleLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool ServeSamplesLocked(Actions* actions, RemovedRows* removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Appends to `text` what the batches that wait are waiting for, for each of their sizes, the first ones of many.
  void AddWhySamplesWaitLocked(std::string* text) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const TableConfig created_;
  const int64_t max_rows_;  // Asked for once an item.
  const int64_t min_window_;
  const RowLayout rows_;
  Requesters requesters_;
  TableLog* const log_;  // Null where nothing is recorded.
  const uint64_t number_;
  const std::shared_ptr<ChunkTier> tier_;
  mutable Mutex mutex_;
  std::shared_ptr<const TableConfig> config_ ABSL_GUARDED_BY(mutex_);
  uint64_t config_generation_ ABSL_GUARDED_BY(mutex_) = 1;
  mutable TableState state_ ABSL_GUARDED_BY(mutex_);  // Reading a sum may first bring it up to date.
  WaitingInserts inserts_ ABSL_GUARDED_BY(mutex_);
  WaitingSamples samples_ ABSL_GUARDED_BY(mutex_);
  // The batch that was the oldest when it last had to wait, and the items that had been inserted when it became that:
  // each has its half of what comes while it is the oldest, however many large ones wait behind it.
  uint64_t set_aside_for_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t set_aside_since_ ABSL_GUARDED_BY(mutex_) = 0;
  // The one that was found right last, which is nearly always the next one as well.
  std::shared_ptr<const BatchLayout> checked_layout_ ABSL_GUARDED_BY(mutex_);
  int64_t checked_batch_size_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t last_request_ ABSL_GUARDED_BY(mutex_) = 0;
  InsertTimes insert_times_ ABSL_GUARDED_BY(mutex_);
  int64_t updated_ns_ ABSL_GUARDED_BY(mutex_) = 0;  // When priorities were updated last; 0: never.
  std::string updated_by_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool config_changed_ ABSL_GUARDED_BY(mutex_) = true;  // Since changes were taken.
  WriterMarks marks_ ABSL_GUARDED_BY(mutex_);           // Nothing without a log.
};

}  // namespace waggle
