#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/replay/ports/replay.h"
#include "replay_server/base/memory_account.h"
#include "replay_server/items/table_log.h"
#include "replay_server/rows/row_layout.h"
#include "replay_server/table/table.h"
#include "replay_server/writers/block_checks.h"
#include "replay_server/writers/reserved_rows.h"

namespace waggle {

using ItemsByTable = std::vector<std::vector<NewItem>>;

// A block's items, whose rows were copied.
struct BlockItems {
  ItemsByTable items;
  WriterCounts counts;
  int64_t bytes = 0;  // Memory of the items.
  ReservedRows::Ranges streams;
};

// Turns a writer's blocks into items and keeps the newest rows of its streams. Not thread-safe.
class BlockIntake {
 public:
  // `tables`, `rows` and `home` must outlive this. The memory is shared by all writers; see WriterAccounts.
  BlockIntake(const std::vector<std::shared_ptr<Table>>& tables, const std::shared_ptr<const RowLayout>& rows,
              const WriterSessionOptions& options, const BlockHome& home, std::shared_ptr<MemoryAccount> held,
              std::shared_ptr<MemoryAccount> needed);

  // Checks the block, copies its rows, extends its streams and makes its items, or changes nothing. For errors see
  // WriterSession::Insert.
  absl::StatusOr<BlockItems> Take(const InsertBlock& block);
  // The held rows. The caller must call CountBytes after a change.
  ReservedRows* held() { return &held_; }
  // True if the held rows should be shrunk.
  bool IsWasteful() const { return held_.IsWasteful(held_memory_.account()->over()); }
  // Counts the held rows in the memory of all writers. Returns by how many bytes they grew since the last call.
  int64_t CountBytes();

 private:
  // RESOURCE_EXHAUSTED if these streams would need more than the memory of all writers.
  absl::Status CountNeeded(const ReservedRows::Ranges& streams);
  absl::StatusOr<std::vector<ChunkRef>> CopyRows(const InsertBlock& block) const;
  // RESOURCE_EXHAUSTED if the windows have too many chunks together.
  absl::Status MakeItems(const InsertBlock& block, BlockItems* made) const;

  const size_t tables_;
  const std::shared_ptr<const RowLayout> rows_;
  const int64_t max_references_;
  const BlockChecks checks_;
  const BlockHome& home_;
  ReservedRows held_;
  MemoryAccount::Hold held_memory_;    // Bytes of held_.
  MemoryAccount::Hold needed_memory_;  // Bytes if the rows lay in blocks of their own.
};

}  // namespace waggle
