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

// Where the rows of a block are to be after a restore: on disk if all tables that may refer to them have a
// memory_limit, and then in the tier of the largest.
struct SavedTier {
  // A table's; null if it has no limit.
  void Add(const std::shared_ptr<ChunkTier>& tier);
  void Add(const SavedTier& other);

  std::shared_ptr<ChunkTier> largest;
  bool in_memory = false;
};

// The blocks of rows of a database that is restored: its users name the chunks that they refer to, all blocks are read
// at once, and then the names become chunks. What nobody has named is not read. All errors are DATA_LOSS, or what the
// disk says. One thread.
class SavedBlocks {
 public:
  // The database outlives it.
  explicit SavedBlocks(Database* database) : database_(database) {}
  SavedBlocks(const SavedBlocks&) = delete;
  SavedBlocks& operator=(const SavedBlocks&) = delete;

  // Before Load(). The layout of one block is the same object for all who name it.
  absl::Status Need(const ChunkNames& names, const std::shared_ptr<const RowLayout>& layout, const SavedTier& tier);

  // Reads and checks everything but rows that stay on disk, which are checked when they are read.
  absl::Status Load();

  // The chunk of this name, after Load(). `owner` is the number of the table or the writer that refers to it, and
  // counts that among the block's pins alone.
  absl::StatusOr<ChunkRef> Resolve(const ChunkName& name, size_t pins, uint64_t owner);

  // After Load(): of the rows' blocks; new ones get numbers past theirs.
  const std::shared_ptr<BlockLedger>& ledger() const { return ledger_; }
  // After Load(): blocks that nobody has named.
  const std::vector<uint64_t>& orphans() const { return orphans_; }

 private:
  struct Block {
    std::shared_ptr<const RowLayout> layout;
    SavedTier tier;
    std::vector<ChunkRef> chunks;
    std::vector<uint64_t> owners;  // By holder: the number of the table or writer that it is; 0 where nobody is yet.
  };

  absl::Status NoteLast(char kind, uint64_t* next);
  // Null for a block that nobody has named.
  Block* FindNeeded(uint64_t number);
  absl::Status TakeBlock(absl::string_view key, absl::string_view value);
  absl::Status TakeHead(absl::string_view key, absl::string_view value);
  void CountRows(uint64_t bytes);

  Database* const database_;
  std::shared_ptr<BlockLedger> ledger_;
  absl::flat_hash_map<uint64_t, Block> needed_;
  std::vector<uint64_t> orphans_;
  uint64_t bytes_ = 0;   // Of rows that are in memory.
  uint64_t logged_ = 0;  // Of those, when that was last told.
};

}  // namespace waggle
