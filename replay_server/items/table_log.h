#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/api/replay.h"
#include "common/table_config/table_config.h"
#include "common/tensor/compression.h"
#include "replay_server/rows/block_ledger.h"
#include "replay_server/rows/chunk.h"

// What tables and writers have to do with the disk. They note what has changed, and hand it over when they are asked;
// how it is written is another folder's business (replay_server/storage).

namespace waggle {

class Table;
class WriterSession;

// A slot of a table as it is to be on disk.
struct ItemRecord {
  uint32_t slot = 0;
  uint64_t generation = 0;  // 0: it holds no item, and the rest means nothing.
  double priority = 0;
  uint64_t policy_version = 0;
  uint32_t offset = 0;
  uint32_t rows = 0;
  uint32_t times_sampled = 0;
  uint16_t pins = 0;
  uint8_t context = 0;
  absl::InlinedVector<ChunkRef, 2> chunks;
};

struct TableCounters {
  uint64_t incarnation = 0;
  uint64_t next_generation = 1;
  int64_t inserted = 0;
  int64_t sampled = 0;
  int64_t removed = 0;
  PriorityUpdateCounts priority_updates;
  double ratio_carried = 0;  // RateLimiter::carried().
};

// How far a writer's items are in a table: all of its blocks up to `sequence`, and the first `items` of the next
// block's items for this table.
struct WriterMark {
  uint64_t writer = 0;
  uint64_t sequence = 0;
  uint64_t items = 0;
  uint64_t table = 0;  // Its number, where it is not known from elsewhere.
};

// What has changed in a table since it was asked last.
struct TableChanges {
  bool cleared = false;  // Before the rest: every slot.
  std::vector<ItemRecord> items;
  std::vector<WriterMark> marks;
  TableCounters counters;
  std::shared_ptr<const TableConfig> config;  // Null if it has not changed.
  uint64_t config_generation = 0;
};

// The newest rows of a stream, which windows to come may reach back to.
struct StreamRecord {
  struct Part {
    uint64_t first_row = 0;
    ChunkRef chunk;
  };
  uint32_t stream = 0;
  uint64_t first = 0;  // The first row that is held, and the stream's next one.
  uint64_t next = 0;
  std::vector<Part> parts;
};

struct WriterCounts {
  uint64_t items_inserted = 0;
  uint64_t items_without_rows = 0;
};

// By sequence: what a block is known by when it comes again, possibly under another number.
using BlockFingerprints = std::vector<std::pair<uint64_t, uint64_t>>;

// What has changed about a writer, as of a block.
struct WriterChanges {
  uint64_t sequence = 0;  // That one.
  std::vector<StreamRecord> streams;
  WriterCounts counts;
  BlockFingerprints fingerprints;  // Of the blocks after that one.
};

// A writer as it was saved, until it comes back.
struct SavedWriter {
  uint64_t number = 0;
  uint64_t incarnation = 0;
  std::string id;
  std::vector<std::string> tables;
  std::vector<ArraySpec> signature;
  std::vector<Codec> codecs;  // By column.
  uint64_t sequence = 0;
  WriterCounts counts;
  BlockFingerprints fingerprints;
  std::vector<StreamRecord> streams;
  // For each of its tables that was saved, by name.
  std::vector<std::pair<std::string, WriterMark>> marks;
};

// A table as it was saved.
struct SavedTable {
  uint64_t number = 0;
  TableConfig created;
  TableConfig config;
  uint64_t config_generation = 1;
  TableCounters counters;
  std::vector<ItemRecord> items;  // In the order of their generations.
  std::vector<WriterMark> marks;
  std::shared_ptr<ChunkTier> tier = nullptr;  // Of the rows, where the configuration has a memory_limit.
};

// Where tables and writers are written down. Thread-safe; nothing here blocks.
class TableLog {
 public:
  // Called once: with OK when everything that was done before is on disk as far as was asked for; with the reason where
  // that will not be.
  using Answer = std::function<void(const absl::Status&)>;

  virtual ~TableLog() = default;

  // OK, or why nothing can be written just now (UNAVAILABLE: the disk is full, …).
  virtual absl::Status status() const = 0;
  virtual void AfterCommit(Answer answer) = 0;
  virtual const std::shared_ptr<BlockLedger>& ledger() const = 0;

  // A number that no other table or writer has or had.
  virtual uint64_t NewNumber() = 0;
  // Takes a table over. `replaced`, if given, goes with the same write: there are never two of one name on disk.
  virtual void AddTable(std::shared_ptr<Table> table, const std::shared_ptr<Table>& replaced) = 0;
  // Forgets a table, with all that was saved of it, which nothing that is saved takes the place of.
  virtual void DropTable(const std::shared_ptr<Table>& table) = 0;
  virtual void AddWriter(const std::string& id, std::weak_ptr<WriterSession> session) = 0;
  virtual void ForgetWriter(uint64_t number) = 0;
};

}  // namespace waggle
