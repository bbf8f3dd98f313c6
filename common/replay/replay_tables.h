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

// A table as its server describes it.
struct TableStatus {
  TableConfig config;
  uint64_t config_generation = 0;  // Counts the changes of the configuration.
  uint64_t items = 0;
  uint64_t bytes = 0;  // Of rows, in memory.
  // Since the table was created.
  uint64_t items_inserted = 0;
  uint64_t items_sampled = 0;
  uint64_t items_removed = 0;
  PriorityUpdateCounts priority_updates;
  uint64_t inserts_waiting = 0;  // Requests.
  uint64_t samples_waiting = 0;
  std::string blocked_because;  // In words; empty where nobody waits.
  double priority_sum = 0;
};

// What becomes of a table that is changed.
struct TableChange {
  std::vector<std::string> differences;  // "max_items: 10 and 20".
  uint64_t items_removed = 0;
  uint64_t config_generation = 0;  // Afterwards.
};

// The tables of one replay server: creating, looking, changing. Every call takes at most `timeout`, and is tried once:
// UNAVAILABLE or DEADLINE_EXCEEDED where the server does not answer. Thread-safe.
class ReplayTables {
 public:
  // HOST:PORT. Connects when first used.
  explicit ReplayTables(const std::string& address, absl::Duration timeout = absl::Seconds(10));
  ~ReplayTables();

  // Returns whether it is new; false where an equal one is there. FAILED_PRECONDITION, saying what differs, where
  // another one of that name is.
  absl::StatusOr<bool> Create(const TableConfig& config);
  absl::StatusOr<std::vector<TableStatus>> List();
  // NOT_FOUND, with the tables that there are.
  absl::StatusOr<TableStatus> Get(const std::string& table);
  // Changes what can be changed while a table is in use, all or nothing. `generation` is that of the configuration that
  // `config` is a change of: ABORTED where it has changed meanwhile.
  absl::StatusOr<TableChange> Reconfigure(const TableConfig& config, uint64_t generation, bool dry_run = false);
  // By key and generation, as sampled. "applied" counts what was deleted.
  absl::StatusOr<PriorityUpdateCounts> Delete(const std::string& table, const std::vector<uint64_t>& keys,
                                              const std::vector<uint64_t>& generations);
  // Waits for the answer, where PriorityUpdater does not.
  absl::StatusOr<PriorityUpdateCounts> UpdatePriorities(const std::string& table, const std::vector<uint64_t>& keys,
                                                        const std::vector<uint64_t>& generations,
                                                        const std::vector<double>& priorities);
  // Returns how many items there were.
  absl::StatusOr<uint64_t> Clear(const std::string& table);

 private:
  class Stub;
  const std::string address_;
  const absl::Duration timeout_;
  const std::unique_ptr<Stub> stub_;
};

}  // namespace waggle
