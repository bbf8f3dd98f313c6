#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/config/table/table_config.h"
#include "common/replay/ports/replay.h"
#include "replay_server/base/memory_account.h"
#include "replay_server/items/table_log.h"
#include "replay_server/items/table_state.h"
#include "replay_server/table/table_base.h"
#include "replay_server/table/table_picture.h"
#include "replay_server/table/table_requests.h"
#include "replay_server/table/table_view.h"
#include "replay_server/table/writer_marks.h"

namespace waggle {

// The part of a table that its lock guards: its configuration, items, requests and writers' marks. Not thread-safe;
// const functions are no exception, because reading a sum may update it.
class TableCore {
 public:
  // `table` must outlive it. For the other arguments see Table::Create.
  TableCore(const TableBase* table, const TableConfig& config, uint64_t seed, std::shared_ptr<MemoryAccount> memory);
  TableCore(const TableCore&) = delete;
  TableCore& operator=(const TableCore&) = delete;

  const std::shared_ptr<const TableConfig>& config() const { return config_; }
  TableState& state() { return state_; }
  const TableState& state() const { return state_; }
  TableRequests& requests() { return requests_; }
  const TableRequests& requests() const { return requests_; }
  // Empty without a log.
  WriterMarks& marks() { return marks_; }

  struct Reconfigured {
    std::vector<std::string> differences;
    int64_t items_removed = 0;
    uint64_t generation = 0;  // The new configuration's.
    // The rate limiter's new allowance: see RateLimiter.
    double samples_allowed = 0;
    double inserts_allowed = 0;
    std::vector<std::string> waits;  // Reasons why inserts and single samples wait then.
  };
  // See Table::Reconfigure. The configuration must be valid. Serves no requests.
  absl::StatusOr<Reconfigured> Reconfigure(const TableConfig& config, uint64_t generation, bool dry_run,
                                           RemovedRows* removed);
  // As TableState's. The last argument names the client, for people.
  PriorityUpdateCounts UpdatePriorities(absl::Span<const uint64_t> keys, absl::Span<const uint64_t> generations,
                                        absl::Span<const double> priorities, absl::string_view who);

  // Restores a new table. INVALID_ARGUMENT for impossible items.
  absl::Status Restore(SavedTable saved);
  // See Table::TakeSomeChanges.
  void TakeChanges(size_t most, TableChanges* changes);

  TableInfo info() const;
  // Without clients. `now` is by SteadyElapsed().
  TablePicture picture(absl::Duration now) const;

 private:
  const TableBase* const table_;
  std::shared_ptr<const TableConfig> config_;
  uint64_t config_generation_ = 1;
  bool config_changed_ = true;  // Since changes were taken.
  TableState state_;
  WriterMarks marks_;
  TableRequests requests_;
  int64_t updated_ns_ = 0;  // When priorities were updated last; 0: never.
  std::string updated_by_;
};

}  // namespace waggle
