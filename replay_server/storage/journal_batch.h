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

// What is known of a table that is written down.
struct JournalTable {
  std::shared_ptr<Table> table;
  std::string counters;  // As they were written last.
};

// What is known of a writer that is written down.
struct JournalWriter {
  std::string id;
  std::weak_ptr<WriterSession> session;
  bool described = false;  // Its name and its columns are written.
  bool all_durable = false;
  // Numbers of its tables that are logged, and that are saved by checkpoints.
  std::vector<uint64_t> logged;
  std::vector<uint64_t> checkpointed;
  // As they were written last, by table.
  std::map<uint64_t, WriterMark> marks;
  uint64_t sequence = 0;  // A writer that comes back goes on with the block behind it.
  // What the database refers to: it is kept, so that it counts as gone only after that has changed.
  absl::flat_hash_map<uint32_t, std::vector<ChunkRef>> streams;

  // The block up to which the database will have it in its logged tables, if there are such: what they have is not
  // asked for again, although tables that are saved by checkpoints may have lost it.
  uint64_t InTables() const;
  // All up to this block is in the database for all of its tables.
  uint64_t Durable() const;
};

// What the journal's thread knows of the tables and writers.
struct JournalState {
  std::map<uint64_t, JournalTable> tables;
  std::map<uint64_t, JournalWriter> writers;
  BlockLedger::Gone gone;  // Blocks to be deleted.

  void AddWriter(const std::string& id, const std::shared_ptr<WriterSession>& session);
};

// One write in the making: what has changed, the rows that this refers to, and then the records of it. Rows may go to
// disk ahead of everything else; all that refers to them, and all that is deleted, is one atomic write.
class JournalBatch {
 public:
  explicit JournalBatch(Database* database) : database_(database) {}

  // Adds what a table has changed after what was added of it before.
  void Add(uint64_t table, TableChanges changes);
  size_t items() const;

  // Makes records of blocks that what was added refers to and that are not on disk. Calls `write` whenever there are
  // many bytes; the rest stays in `records`. Before Encode: what refers to rows must not be on disk without them.
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

  // Forgets a table or a writer at once; its records are deleted by Encode.
  void DropTable(uint64_t table, JournalState* state);
  void DropWriter(uint64_t writer, JournalState* state);
  // Makes records of all that was added and dropped, and of its writers. `sessions` have been told to hold their
  // changes.
  void Encode(bool checkpoint, JournalState* state, const std::vector<std::shared_ptr<WriterSession>>& sessions);
  void DeleteBlocks(const std::vector<uint64_t>& blocks);
  void Put(Database::Family family, const std::string& key, const std::string& value);

  rocksdb::WriteBatch* records() { return &records_; }
  // After they were written.
  void NoteWritten();
  // Whether a table wants to be sure that the disk has it.
  bool sync() const { return sync_; }
  // After the write: tells the writers.
  void TellWriters(const JournalState& state) const;

 private:
  static constexpr size_t kManyBytes = size_t{8} << 20;

  struct DroppedTable {
    uint64_t number = 0;
    std::vector<uint64_t> writers;  // That have a mark in it.
  };

  void Need(const ChunkRef& chunk);
  void AddBlock(const ChunkRef& chunk);
  void AddTieredBlock(const ChunkRef& chunk);
  void DeleteTable(const DroppedTable& table);
  void DeleteWriter(uint64_t writer);
  // Whether there was anything to write.
  bool EncodeTable(JournalTable* table, const TableChanges& changes);
  void EncodeWriter(uint64_t number, JournalWriter* writer, const std::vector<WriterMark>& marks);
  void EncodeStream(uint64_t number, const StreamRecord& stream, JournalWriter* writer);

  Database* const database_;
  rocksdb::WriteBatch records_;
  std::map<uint64_t, TableChanges> tables_;
  std::vector<DroppedTable> dropped_tables_;
  std::vector<uint64_t> dropped_writers_;
  std::vector<ChunkRef> pending_;  // Whose blocks are to be written.
  size_t block_item_ = 0;
  std::vector<ChunkRef> written_;                // Of each block with a tier whose record is in `records_`, one.
  std::vector<uint64_t> told_;                   // Writers.
  std::vector<std::vector<ChunkRef>> replaced_;  // What the database refers to until this is written.
  bool encoded_ = false;
  bool sync_ = false;
};

}  // namespace waggle
