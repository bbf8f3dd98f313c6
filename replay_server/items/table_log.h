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
#include "common/base/tensor/compression.h"
#include "common/config/table/table_config.h"
#include "common/replay/ports/replay.h"
#include "replay_server/rows/block_ledger.h"
#include "replay_server/rows/chunk.h"

// The records that tables and writers save. They note changes and return them; replay_server/storage writes them.

namespace waggle {

class Table;
class WriterSession;

// A saved slot of a table.
struct ItemRecord {
  uint32_t slot = 0;
  uint64_t generation = 0;  // 0 if it holds no item; the other fields mean nothing then.
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

// A writer's progress in a table: all of its blocks up to `sequence`, and the first `items` of the next block's items
// for this table.
struct WriterMark {
  uint64_t writer = 0;
  uint64_t sequence = 0;
  uint64_t items = 0;
  uint64_t table = 0;  // The table's number, unless known otherwise.
};

// Changes of a table since the last request.
struct TableChanges {
  bool cleared = false;  // True if all slots were emptied before the changes below.
  std::vector<ItemRecord> items;
  std::vector<WriterMark> marks;
  TableCounters counters;
  std::shared_ptr<const TableConfig> config;  // Null if it has not changed.
  uint64_t config_generation = 0;
};

// The newest rows of a stream, for later windows.
struct StreamRecord {
  struct Part {
    uint64_t first_row = 0;
    ChunkRef chunk;
  };
  uint32_t stream = 0;
  uint64_t first = 0;  // The first held row and the stream's next one.
  uint64_t next = 0;
  std::vector<Part> parts;
};

struct WriterCounts {
  uint64_t items_inserted = 0;
  uint64_t items_without_rows = 0;
};

// By sequence: identifies a block that is sent again, possibly under another number.
using BlockFingerprints = std::vector<std::pair<uint64_t, uint64_t>>;

// Changes of a writer up to a block.
struct WriterChanges {
  uint64_t sequence = 0;  // The block's.
  std::vector<StreamRecord> streams;
  WriterCounts counts;
  BlockFingerprints fingerprints;  // Later blocks'.
};

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
  // Its marks in saved tables, by table name.
  std::vector<std::pair<std::string, WriterMark>> marks;
};

struct SavedTable {
  uint64_t number = 0;
  TableConfig created;
  TableConfig config;
  uint64_t config_generation = 1;
  TableCounters counters;
  std::vector<ItemRecord> items;  // In order of generations.
  std::vector<WriterMark> marks;
  std::shared_ptr<ChunkTier> tier = nullptr;  // For its rows, if it has a memory_limit.
};

// Saves tables and writers. Thread-safe; never blocks.
class TableLog {
 public:
  // Called once: with OK when all earlier changes are on disk as required, or with the error that prevents it.
  using Answer = std::function<void(const absl::Status&)>;

  virtual ~TableLog() = default;

  // OK, or why nothing can be written now (UNAVAILABLE: the disk is full, …).
  virtual absl::Status status() const = 0;
  virtual void AfterCommit(Answer answer) = 0;
  virtual const std::shared_ptr<BlockLedger>& ledger() const = 0;

  // Unique among all tables and writers, past ones too.
  virtual uint64_t NewNumber() = 0;
  // Adds a table. `replaced`, if not null, is deleted by the same write, so the disk never has two tables of one name.
  virtual void AddTable(std::shared_ptr<Table> table, const std::shared_ptr<Table>& replaced) = 0;
  // Deletes a table and its saved data, without a replacement.
  virtual void DropTable(const std::shared_ptr<Table>& table) = 0;
  virtual void AddWriter(const std::string& id, std::weak_ptr<WriterSession> session) = 0;
  virtual void ForgetWriter(uint64_t number) = 0;
};

}  // namespace waggle
