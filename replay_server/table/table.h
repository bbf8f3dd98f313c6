#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/api/batch_layout.h"
#include "common/api/replay.h"
#include "common/api/table_config.h"
#include "common/base/mutex.h"
#include "replay_server/table/after_lock.h"
#include "replay_server/table/chunk.h"
#include "replay_server/table/row_layout.h"
#include "replay_server/table/table_state.h"

namespace waggle {

// A table that many threads share: TableState under a lock, with those who wait for room or for items queued as
// requests, never as blocked threads. Thread-safe. No call blocks, and no callback runs under the lock.
//
// The lock covers index work only. Gathering the rows of a sampled batch, freeing the rows of removed items and calling
// back are done by whichever thread called, after it has released the lock.
class Table : public std::enable_shared_from_this<Table> {
 public:
  // INVALID_ARGUMENT if the configuration is wrong. `seed` decides what is sampled.
  static absl::StatusOr<std::shared_ptr<Table>> Create(TableConfig config, uint64_t seed);

  const TableConfig& config() const { return config_; }

  // INVALID_ARGUMENT for a priority that is negative, not finite or too large for this table's exponent.
  absl::Status ValidatePriority(double priority) const { return TableState::ValidatePriority(config_, priority); }

  // Inserts items, in their order, as far as the rate limiter lets it; the rest waits its turn, first come, first
  // served. Calls `done` once: OK when all are in, CANCELLED if the table is closed first. The windows lie within their
  // chunks and have at most max_window rows, and the priorities are valid. How much may wait is for the caller to
  // bound.
  void Insert(std::vector<NewItem> items, std::function<void(absl::Status)> done);

  // Draws `batch_size` items as soon as the rate limiter allows it, and gathers their rows. FAILED_PRECONDITION if the
  // limiter could never allow that many at once (the message says which setting is too small); CANCELLED if the table
  // is closed or the request is cancelled; RESOURCE_EXHAUSTED if too many requests wait already; INVALID_ARGUMENT if
  // the layout is not that of such a batch.
  using SampleDone = std::function<void(absl::StatusOr<SampledBatch>)>;
  // Returns a number by which the request can be cancelled; 0 if it is answered, or will be by this thread before it
  // returns from the outermost callback.
  uint64_t Sample(std::shared_ptr<const BatchLayout> layout, int64_t batch_size, SampleDone done);
  // The request's callback is called with CANCELLED unless it was answered already.
  void CancelSample(uint64_t request);

  // The spans have one length. INVALID_ARGUMENT, with nothing applied, for a priority that is negative or not finite.
  absl::StatusOr<PriorityUpdateCounts> UpdatePriorities(absl::Span<const uint64_t> keys,
                                                        absl::Span<const uint64_t> generations,
                                                        absl::Span<const double> priorities);
  // "applied" counts what was deleted.
  PriorityUpdateCounts Delete(absl::Span<const uint64_t> keys, absl::Span<const uint64_t> generations);
  // Returns how many items there were.
  int64_t Clear();

  // A picture of the table for people and for metrics.
  struct Info {
    int64_t items = 0;
    int64_t bytes = 0;
    int64_t items_inserted = 0;
    int64_t items_sampled = 0;
    int64_t items_removed = 0;
    PriorityUpdateCounts priority_updates;
    int64_t inserts_waiting = 0;  // Requests.
    int64_t samples_waiting = 0;
    double priority_sum = 0;
    std::string blocked_because;  // In words, what the limiter waits for; empty where it blocks nobody.
  };
  Info info() const;

  // Answers every waiting request with CANCELLED, and every later one.
  void Close();

 private:
  struct WaitingInsert {
    std::vector<NewItem> items;
    size_t next = 0;  // The first one that is not in yet.
    std::function<void(absl::Status)> done;
  };
  struct WaitingSample {
    uint64_t request = 0;
    std::shared_ptr<const BatchLayout> layout;
    int64_t batch_size = 0;
    SampleDone done;
  };

  Table(TableConfig config, uint64_t seed);

  // Inserts and samples what can be by now, in the order of the requests.
  void ServeLocked(Actions* actions, RemovedRows* removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool ServeInsertsLocked(Actions* actions, RemovedRows* removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool ServeSamplesLocked(Actions* actions, RemovedRows* removed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const TableConfig config_;
  const RowLayout rows_;
  mutable Mutex mutex_;
  mutable TableState state_ ABSL_GUARDED_BY(mutex_);  // Reading a sum may first bring it up to date.
  std::deque<WaitingInsert> inserts_ ABSL_GUARDED_BY(mutex_);
  std::deque<WaitingSample> samples_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_request_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace waggle
