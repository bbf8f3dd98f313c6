#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/threads/mutex.h"
#include "common/config/table/batch_layout.h"
#include "common/config/table/table_config.h"
#include "common/replay/ports/replay.h"
#include "replay_server/batches/drawn_batch.h"
#include "replay_server/items/table_log.h"
#include "replay_server/items/table_state.h"
#include "replay_server/rows/chunk.h"
#include "replay_server/rows/chunk_tier.h"
#include "replay_server/table/table_base.h"
#include "replay_server/table/table_client.h"
#include "replay_server/table/table_core.h"
#include "replay_server/table/table_picture.h"
#include "replay_server/table/table_requests.h"
#include "replay_server/table/table_view.h"
#include "replay_server/table/writer_marks.h"

namespace waggle {

// A table that threads share. TableBase has what never changes, TableCore what the lock guards. Thread-safe. No call
// blocks, and no callback runs under the lock.
//
// The lock covers index work only. The calling thread frees removed items' rows and calls back after it has released
// the lock. A batch's receiver gathers its rows.
class Table : public TableBase {
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

  // The current configuration.
  std::shared_ptr<const TableConfig> config() const;

  using Reconfigured = TableCore::Reconfigured;
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

  using DrawDone = TableRequests::DrawDone;
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
  // See TableState::BeginAnew. Requests that wait stay.
  void BeginAnew();

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

  // Answers all waiting and later requests with CANCELLED.
  void Close();
  // Closes the table and frees its content in this thread, which takes long. Its log must have dropped it before.
  void Discard();

 private:
  Table(TableConfig created, const TableConfig& config, uint64_t seed, std::shared_ptr<MemoryAccount> memory,
        TableLog* log, uint64_t number, std::shared_ptr<ChunkTier> tier);

  absl::Status CheckRequest(const std::shared_ptr<const BatchLayout>& layout, const DrawRequest& draw)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The last valid request, which the next usually equals.
  struct CheckedRequest {
    std::shared_ptr<const TableConfig> config;
    std::shared_ptr<const BatchLayout> layout;
    int64_t items = 0;
  };

  TableClients clients_;
  mutable Mutex mutex_;
  TableCore core_ ABSL_GUARDED_BY(mutex_);
  CheckedRequest checked_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
