#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/config/table/table_config.h"
#include "common/replay/ports/replay.h"

namespace waggle {

// A server's description of a table.
struct TableStatus {
  TableConfig config;
  uint64_t config_generation = 0;  // Counts the changes of the configuration.
  uint64_t items = 0;
  uint64_t bytes = 0;  // Bytes of rows in memory.
  // Since the table was created.
  uint64_t items_inserted = 0;
  uint64_t items_sampled = 0;
  uint64_t items_removed = 0;
  PriorityUpdateCounts priority_updates;
  uint64_t inserts_waiting = 0;  // Requests.
  uint64_t samples_waiting = 0;
  std::string blocked_because;  // In words; empty if no request waits.
  double priority_sum = 0;
};

// The effects of a change of a table.
struct TableChange {
  std::vector<std::string> differences;  // "max_items: 10 and 20".
  uint64_t items_removed = 0;
  uint64_t config_generation = 0;  // After the change.
};

// Creates, describes and changes the tables of one replay server. Each call takes at most `timeout` and is not retried:
// UNAVAILABLE or DEADLINE_EXCEEDED if the server does not answer. Thread-safe.
class ReplayTables {
 public:
  // `address` is HOST:PORT. Connects at the first call.
  explicit ReplayTables(const std::string& address, absl::Duration timeout = absl::Seconds(10));
  ~ReplayTables();

  // Returns false if an equal table exists. FAILED_PRECONDITION, with the differences, if another table has the name.
  absl::StatusOr<bool> Create(const TableConfig& config);
  absl::StatusOr<std::vector<TableStatus>> List();
  // NOT_FOUND, with the tables' names.
  absl::StatusOr<TableStatus> Get(const std::string& table);
  // Applies all changes that a table in use allows, or returns an error. `generation` is that of the changed
  // configuration: ABORTED if it is not the table's any more.
  absl::StatusOr<TableChange> Reconfigure(const TableConfig& config, uint64_t generation, bool dry_run = false);
  // `keys` and `generations` are as sampled. `applied` counts deleted items.
  absl::StatusOr<PriorityUpdateCounts> Delete(const std::string& table, const std::vector<uint64_t>& keys,
                                              const std::vector<uint64_t>& generations);
  // Waits for the answer, unlike PriorityUpdater.
  absl::StatusOr<PriorityUpdateCounts> UpdatePriorities(const std::string& table, const std::vector<uint64_t>& keys,
                                                        const std::vector<uint64_t>& generations,
                                                        const std::vector<double>& priorities);
  // Returns the number of deleted items.
  absl::StatusOr<uint64_t> Clear(const std::string& table);

 private:
  class Stub;
  const std::string address_;
  const absl::Duration timeout_;
  const std::unique_ptr<Stub> stub_;
};

}  // namespace waggle
