#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "replay_server/items/table_log.h"
#include "replay_server/storage/database.h"

namespace waggle {

// All that a database holds, with its rows in memory; those of tables with a memory_limit are left on disk.
struct SavedState {
  uint32_t format = 0;  // That it was written with.
  std::vector<SavedTable> tables;
  std::vector<SavedWriter> writers;
  std::shared_ptr<BlockLedger> ledger;  // Of the rows' blocks.
  uint64_t next_number = 1;             // For tables and writers.
  // Blocks that nothing refers to: a crash came between them and what they were for.
  std::vector<uint64_t> orphans;
  // What the last checkpoint said of itself; 0 where there was none.
  uint64_t checkpoint = 0;
  int64_t checkpoint_unix_seconds = 0;
};

// Reads and checks everything but rows that are left on disk, which are checked when they are read. DATA_LOSS for what
// is damaged or missing; FAILED_PRECONDITION for a database that a newer server has written.
absl::StatusOr<SavedState> LoadSavedState(Database* database);

}  // namespace waggle
