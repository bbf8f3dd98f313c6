#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "replay_server/items/table_log.h"
#include "replay_server/storage/database.h"

namespace waggle {

// All data of a database, with its rows in memory. Rows of tables with a memory_limit stay on disk.
struct SavedState {
  uint32_t format = 0;  // Format of the database.
  std::vector<SavedTable> tables;
  std::vector<SavedWriter> writers;
  std::shared_ptr<BlockLedger> ledger;  // Has all blocks.
  uint64_t next_number = 1;             // For new tables and writers.
  // Blocks that no record refers to, left by a crash.
  std::vector<uint64_t> orphans;
  // The last checkpoint's own record; 0 if there is none.
  uint64_t checkpoint = 0;
  int64_t checkpoint_unix_seconds = 0;
};

// The format of a database. DATA_LOSS if it has none, FAILED_PRECONDITION if a newer server has written it.
absl::StatusOr<uint32_t> FormatOf(Database* database);

// Reads and checks all data but rows that stay on disk, which are checked when they are read. DATA_LOSS if data is
// damaged or missing, FAILED_PRECONDITION if a newer server has written the database.
absl::StatusOr<SavedState> LoadSavedState(Database* database);

}  // namespace waggle
