#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/table/batch_layout.h"
#include "replay_server/batches/drawn_batch.h"
#include "replay_server/items/insert_times.h"
#include "replay_server/items/table_log.h"
#include "replay_server/items/table_state.h"
#include "replay_server/table/after_lock.h"
#include "replay_server/table/table_base.h"
#include "replay_server/table/table_client.h"
#include "replay_server/table/waiting_inserts.h"
#include "replay_server/table/waiting_samples.h"
#include "replay_server/table/writer_marks.h"

namespace waggle {

// A table's requests. Inserts and draws as far as the rate limiter allows, and keeps requests that must wait for room
// or items. Not thread-safe.
class TableRequests {
 public:
  using DrawDone = std::function<void(absl::StatusOr<DrawnBatch>)>;

  // All must outlive it. `marks` notes which items of writers are in, if the table has a log.
  TableRequests(const TableBase* table, TableState* state, WriterMarks* marks)
      : table_(table), state_(state), marks_(marks) {}

  // See Table::Insert.
  void Insert(std::vector<NewItem>&& items, TableLog::Answer&& done, const std::shared_ptr<TableClient>& client,
              const BlockOrigin& origin, AfterLock* after);
  // CANCELLED if the table is closed, RESOURCE_EXHAUSTED if too many batches wait for another like this.
  absl::Status CheckRoom(const DrawRequest& draw);
  // See Table::Draw. The request must be possible, and CheckRoom OK.
  uint64_t Draw(std::shared_ptr<const BatchLayout>&& layout, const DrawRequest& draw, DrawDone&& done,
                const std::shared_ptr<TableClient>& client, AfterLock* after);
  // See Table::CancelSample.
  void CancelSample(uint64_t request, AfterLock* after);
  // Refuses the batches that the state's configuration no longer allows.
  void RefuseImpossible(AfterLock* after);
  // Inserts and samples as far as possible: writers in turns, batches of one size in order.
  void Serve(AfterLock* after);
  // Refuses later requests. Takes those that wait; they need an answer.
  void Close(std::vector<WaitingInsert>* inserts, std::vector<WaitingSample>* samples);

  const WaitingInserts& inserts() const { return inserts_; }
  const WaitingSamples& samples() const { return samples_; }
  const InsertTimes& insert_times() const { return insert_times_; }
  // The reasons why inserts and batches wait, batches of the first few sizes. Empty if none waits.
  std::string WhyBlocked() const;

 private:
  // Inserts up to `most` of the items as far as possible. If all are in, answers the insert and returns true.
  bool InsertSome(WaitingInsert* insert, int64_t most, AfterLock* after);
  // These return true if they have served some.
  bool ServeInserts(AfterLock* after);
  bool ServeSamples(AfterLock* after);
  // The oldest batch that can be drawn now; null if there is none.
  WaitingSample* NextSample();

  const TableBase* const table_;
  TableState* const state_;
  WriterMarks* const marks_;
  WaitingInserts inserts_;
  WaitingSamples samples_;
  // The oldest batch when it last waited, and the number of inserts when it became the oldest. It gets half of the
  // items that come while it is the oldest, however many large ones wait behind it.
  uint64_t set_aside_for_ = 0;
  int64_t set_aside_since_ = 0;
  uint64_t last_request_ = 0;
  InsertTimes insert_times_;
  bool closed_ = false;
};

}  // namespace waggle
