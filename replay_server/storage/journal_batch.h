#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "common/base/check.h"
#include "replay_server/items/table_log.h"
#include "replay_server/storage/database.h"
#include "replay_server/storage/saved_state.h"
#include "replay_server/table/table.h"
#include "replay_server/writers/writer_session.h"

namespace waggle {

// The journal's data of a saved table.
struct JournalTable {
  std::shared_ptr<Table> table;
  std::string counters;  // As last written.
};

// The journal's data of a saved writer.
struct JournalWriter {
  std::string id;
  std::weak_ptr<WriterSession> session;
  bool described = false;  // Its name and columns are written.
  bool all_durable = false;
  // Numbers of its tables of durability "log" and of durability "checkpoint".
  std::vector<uint64_t> logged;
  std::vector<uint64_t> checkpointed;
  // As last written, by table.
  std::map<uint64_t, WriterMark> marks;
  uint64_t sequence = 0;  // A writer that comes back continues with the next block.
  // The chunks that the database refers to. They are kept, so that their blocks count as gone only after a later write.
  absl::flat_hash_map<uint32_t, std::vector<ChunkRef>> streams;

  // The last block that the database will have in all of its logged tables, or in its other tables if it has no logged
  // ones. The writer does not send these blocks again, although tables saved by checkpoints may have lost them.
  uint64_t InTables() const;
  // The database has all blocks up to this one for all of its tables.
  uint64_t Durable() const;
};

// The journal thread's data of all tables and writers.
struct JournalState {
  std::map<uint64_t, JournalTable> tables;
  std::map<uint64_t, JournalWriter> writers;
  BlockLedger::Gone gone;  // Blocks to delete.

  void AddWriter(const std::string& id, const std::shared_ptr<WriterSession>& session);
};

// One write in preparation: first changes, then the rows that they refer to, then records. Rows may be written ahead.
// All records that refer to them, and all deletions, are one atomic write.
class JournalBatch {
 public:
  explicit JournalBatch(Database* database) : database_(database) {}

  // Adds changes of a table that follow those already added.
  void Add(uint64_t table, TableChanges changes);
  size_t items() const;

  // Makes records of blocks that added changes refer to and that are not on disk. Calls `write` for each 8 MiB; the
  // rest stays in `records`. Must precede Encode: records must not be on disk without the rows that they refer to.
  template <class WriteRecords>
  absl::Status AddBlocks(const WriteRecords& write) {
    WAGGLE_CHECK(!encoded_, "rows are written before what refers to them");
    for (; block_item_ < pending_.size(); ++block_item_) {
      AddBlock(pending_[block_item_]);
      if (records_.GetDataSize() >= kManyBytes) {
        if (absl::Status status = write(&records_); !status.ok()) {
          return status;
        }
        records_.Clear();
        NoteWritten();
      }
    }
    pending_.clear();
    block_item_ = 0;
    return absl::OkStatus();
  }

  // Removes a table or a writer from `state`; Encode deletes its records.
  void DropTable(uint64_t table, JournalState* state);
  void DropWriter(uint64_t writer, JournalState* state);
  // Makes records of all additions and deletions, and of the writers. `sessions` hold their changes back.
  void Encode(bool checkpoint, JournalState* state, const std::vector<std::shared_ptr<WriterSession>>& sessions);
  void DeleteBlocks(const std::vector<uint64_t>& blocks);
  void Put(Database::Family family, const std::string& key, const std::string& value);

  rocksdb::WriteBatch* records() { return &records_; }
  // Must be called after records() were written.
  void NoteWritten();
  // True if a change requires a sync.
  bool sync() const { return sync_; }
  // Must be called after the write.
  void TellWriters(const JournalState& state) const;

 private:
  static constexpr size_t kManyBytes = size_t{8} << 20;

  struct DroppedTable {
    uint64_t number = 0;
    std::vector<uint64_t> writers;  // Writers that have a mark in it.
  };

  void Need(const ChunkRef& chunk);
  void AddBlock(const ChunkRef& chunk);
  void AddTieredBlock(const ChunkRef& chunk);
  void DeleteTable(const DroppedTable& table);
  void DeleteWriter(uint64_t writer);
  // True if there was a change to write.
  bool EncodeTable(JournalTable* table, const TableChanges& changes);
  void EncodeWriter(uint64_t number, JournalWriter* writer, const std::vector<WriterMark>& marks);
  void EncodeStream(uint64_t number, const StreamRecord& stream, JournalWriter* writer);

  Database* const database_;
  rocksdb::WriteBatch records_;
  std::map<uint64_t, TableChanges> tables_;
  std::vector<DroppedTable> dropped_tables_;
  std::vector<uint64_t> dropped_writers_;
  std::vector<ChunkRef> pending_;  // Chunks whose blocks must be written.
  size_t block_item_ = 0;
  std::vector<ChunkRef> written_;                // One chunk of each tiered block in `records_`.
  std::vector<uint64_t> told_;                   // Writers that TellWriters tells.
  std::vector<std::vector<ChunkRef>> replaced_;  // Kept while the database refers to them.
  bool encoded_ = false;
  bool sync_ = false;
};

}  // namespace waggle
