#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "replay_server/rows/chunk.h"
#include "replay_server/rows/chunk_tier.h"
#include "replay_server/storage/database.h"
#include "replay_server/storage/records.h"

namespace waggle {

// The place of restored rows: on disk, in the tier of the largest limit, if all tables of the block have a limit.
struct SavedTier {
  // Adds a table's tier; null if the table has no limit.
  void Add(const std::shared_ptr<ChunkTier>& tier);
  void Add(const SavedTier& other);

  std::shared_ptr<ChunkTier> largest;
  bool in_memory = false;
};

// The blocks of rows of a restored database. Users first name the chunks that they need, then all needed blocks are
// read, then names are resolved to chunks. Errors are DATA_LOSS or the disk's. Used by one thread.
class SavedBlocks {
 public:
  // The database must outlive this.
  explicit SavedBlocks(Database* database) : database_(database) {}
  SavedBlocks(const SavedBlocks&) = delete;
  SavedBlocks& operator=(const SavedBlocks&) = delete;

  // Must precede Load(). All users of one block must pass the same layout object.
  absl::Status Need(const ChunkNames& names, const std::shared_ptr<const RowLayout>& layout, const SavedTier& tier);

  // Reads and checks all data but rows that stay on disk, which are checked when they are read. New blocks get numbers
  // from `next` on, or higher ones.
  absl::Status Load(uint64_t next);

  // The chunk of this name, after Load(). `owner` is the table or writer of holder number `pins`; DATA_LOSS if another
  // is.
  absl::StatusOr<ChunkRef> Resolve(const ChunkName& name, size_t pins, uint64_t owner);

  // The ledger of the blocks, after Load().
  const std::shared_ptr<BlockLedger>& ledger() const { return ledger_; }
  // Blocks that were not named, after Load().
  const std::vector<uint64_t>& orphans() const { return orphans_; }

 private:
  struct Block {
    std::shared_ptr<const RowLayout> layout;
    SavedTier tier;
    std::vector<ChunkRef> chunks;
    std::vector<uint64_t> owners;  // The table's or writer's number by holder; 0 if unknown.
  };

  absl::Status NoteLast(char kind, uint64_t* next);
  // Null if the block was not named.
  Block* FindNeeded(uint64_t number);
  absl::Status TakeBlock(absl::string_view key, absl::string_view value);
  absl::Status TakeHead(absl::string_view key, absl::string_view value);
  void CountRows(uint64_t bytes);

  Database* const database_;
  std::shared_ptr<BlockLedger> ledger_;
  absl::flat_hash_map<uint64_t, Block> needed_;
  std::vector<uint64_t> orphans_;
  uint64_t bytes_ = 0;   // Rows in memory.
  uint64_t logged_ = 0;  // `bytes_` at the last log message.
};

}  // namespace waggle
