#include "replay_server/storage/journal_batch.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "common/base/check.h"
#include "common/base/failpoint.h"
#include "common/net/array_spec_convert.h"
#include "common/replay/blocks/block_compression.h"
#include "common/replay/replay_convert.h"
#include "common/replay/table_config_convert.h"
#include "replay_server/batches/pinned_rows.h"
#include "replay_server/storage/block_records.h"
#include "replay_server/storage/records.h"
#include "waggle/v1/replay_storage.pb.h"

namespace waggle {
namespace {

using Family = Database::Family;

std::string EncodeCounters(const TableCounters& counters) {
  v1::StoredCounters proto;
  proto.set_incarnation(counters.incarnation);
  proto.set_next_generation(counters.next_generation);
  proto.set_inserted(counters.inserted);
  proto.set_sampled(counters.sampled);
  proto.set_removed(counters.removed);
  proto.set_priorities_applied(counters.priority_updates.applied);
  proto.set_priorities_stale(counters.priority_updates.stale);
  proto.set_priorities_unknown(counters.priority_updates.unknown);
  proto.set_ratio_carried(counters.ratio_carried);
  return proto.SerializeAsString();
}

uint64_t Least(const std::vector<uint64_t>& tables, const std::map<uint64_t, WriterMark>& marks) {
  uint64_t least = std::numeric_limits<uint64_t>::max();
  for (const uint64_t table : tables) {
    const auto mark = marks.find(table);
    least = std::min(least, mark == marks.end() ? 0 : mark->second.sequence);
  }
  return least;
}

}  // namespace

uint64_t JournalWriter::InTables() const {
  if (logged.empty() && checkpointed.empty()) {
    return sequence;
  }
  return Least(logged.empty() ? checkpointed : logged, marks);
}

uint64_t JournalWriter::Durable() const {
  return all_durable ? std::min(Least(logged, marks), Least(checkpointed, marks)) : 0;
}

void JournalState::AddWriter(const std::string& id, const std::shared_ptr<WriterSession>& session) {
  const auto [known, is_new] = writers.try_emplace(session->number());
  JournalWriter& writer = known->second;
  writer.sequence = is_new ? session->first_sequence() : writer.sequence;
  writer.id = id;
  writer.session = session;
  writer.all_durable = true;
  for (const std::shared_ptr<Table>& table : session->tables()) {
    if (table->number() == 0) {
      writer.all_durable = false;
      continue;
    }
    (table->logged() ? writer.logged : writer.checkpointed).push_back(table->number());
    // A table that replaced another begins where its writer continues.
    writer.marks.try_emplace(table->number(), WriterMark{session->number(), writer.sequence, 0, table->number()});
  }
}

void JournalBatch::Put(Family family, const std::string& key, const std::string& value) {
  // Fails only for a value of more than 4 GiB.
  const rocksdb::Status status = records_.Put(database_->family(family), key, value);
  WAGGLE_CHECK(status.ok(), status.ToString());
}

void JournalBatch::Add(uint64_t table, TableChanges changes) {
  for (const ItemRecord& item : changes.items) {
    for (const ChunkRef& chunk : item.chunks) {
      Need(chunk);
    }
  }
  const auto [it, is_first] = tables_.try_emplace(table);
  TableChanges& all = it->second;
  if (is_first || changes.cleared) {
    changes.cleared = changes.cleared || all.cleared;
    std::vector<WriterMark> marks = std::move(all.marks);
    std::shared_ptr<const TableConfig> config = std::move(all.config);
    all = std::move(changes);
    all.marks.insert(all.marks.begin(), marks.begin(), marks.end());
    all.config = all.config != nullptr ? all.config : config;
    return;
  }
  all.items.insert(all.items.end(), std::make_move_iterator(changes.items.begin()),
                   std::make_move_iterator(changes.items.end()));
  all.marks.insert(all.marks.end(), changes.marks.begin(), changes.marks.end());
  all.counters = changes.counters;
  all.config = changes.config != nullptr ? changes.config : all.config;
  all.config_generation = changes.config_generation;
}

size_t JournalBatch::items() const {
  size_t items = 0;
  for (const auto& [number, changes] : tables_) {
    items += changes.items.size();
  }
  return items;
}

void JournalBatch::Need(const ChunkRef& chunk) {
  if (!chunk->durable()->stored && (pending_.empty() || pending_.back()->durable() != chunk->durable())) {
    pending_.push_back(chunk);
  }
}

void JournalBatch::AddBlock(const ChunkRef& chunk) {
  DurableBlock* const block = chunk->durable();
  if (block->stored) {
    return;  // Another chunk has added it.
  }
  if (chunk->tiered() != nullptr) {
    AddTieredBlock(chunk);
    block->stored = true;
    return;
  }
  const BlockFrame frame = EncodeBlockFrame(*block);
  const std::string key = BlockKey(block->id);
  const rocksdb::Slice key_slice(key);
  const rocksdb::Slice parts[] = {frame.header, rocksdb::Slice(block->data, block->bytes), frame.trailer};
  const rocksdb::Status status = records_.Put(database_->family(Family::kBlocks), rocksdb::SliceParts(&key_slice, 1),
                                              rocksdb::SliceParts(parts, 3));
  WAGGLE_CHECK(status.ok(), status.ToString());
  // No other record is written before it.
  block->stored = true;
}

void JournalBatch::AddTieredBlock(const ChunkRef& chunk) {
  const Chunk* const one = chunk.get();
  PinnedRows pinned;
  if (chunk->durable()->committed.load(std::memory_order_acquire) || !pinned.TryPin({&one, 1})) {
    return;  // Its tier has written it: rows that are not in memory are on disk.
  }
  PutTieredBlock(*chunk->durable(), chunk->tiered()->data, database_, &records_);
  written_.push_back(chunk);
}

void JournalBatch::NoteWritten() {
  for (const ChunkRef& chunk : written_) {
    chunk->durable()->committed.store(true, std::memory_order_release);
  }
  written_.clear();
}

void JournalBatch::Encode(bool checkpoint, JournalState* state,
                          const std::vector<std::shared_ptr<WriterSession>>& sessions) {
  encoded_ = true;
  for (const DroppedTable& table : dropped_tables_) {
    DeleteTable(table);
  }
  for (const uint64_t writer : dropped_writers_) {
    DeleteWriter(writer);
  }
  std::map<uint64_t, std::vector<WriterMark>> marks;
  for (const std::shared_ptr<WriterSession>& session : sessions) {
    marks[session->number()];
  }
  for (const auto& [number, changes] : tables_) {
    JournalTable& table = state->tables.at(number);
    const bool changed = EncodeTable(&table, changes);
    sync_ = sync_ || checkpoint || (changed && table.table->created().log_sync);
    for (const WriterMark& mark : changes.marks) {
      marks[mark.writer].push_back(mark);
    }
  }
  for (const auto& [number, changed] : marks) {
    if (const auto writer = state->writers.find(number); writer != state->writers.end()) {
      EncodeWriter(number, &writer->second, changed);
    }
  }
}

bool JournalBatch::EncodeTable(JournalTable* table, const TableChanges& changes) {
  bool changed = !changes.items.empty() || !changes.marks.empty() || changes.cleared || changes.config != nullptr;
  const uint64_t number = table->table->number();
  rocksdb::ColumnFamilyHandle* const items = database_->family(Family::kItems);
  if (changes.config != nullptr) {
    v1::StoredTable proto;
    *proto.mutable_created() = ToProto(table->table->created());
    *proto.mutable_config() = ToProto(*changes.config);
    proto.set_config_generation(changes.config_generation);
    Put(Family::kMeta, TableKey(number), proto.SerializeAsString());
  }
  if (std::string counters = EncodeCounters(changes.counters); counters != table->counters) {
    Put(Family::kMeta, CountersKey(number), counters);
    table->counters = std::move(counters);
    changed = true;
  }
  if (changes.cleared) {
    const rocksdb::Status status = records_.DeleteRange(items, ItemKey(number, 0), ItemsEnd(number));
    WAGGLE_CHECK(status.ok(), status.ToString());
  }
  bool evicted = false;
  for (const ItemRecord& item : changes.items) {
    const std::string key = ItemKey(number, item.slot);
    if (item.generation != 0) {
      Put(Family::kItems, key, EncodeItem(item));
    } else {
      const rocksdb::Status status = records_.Delete(items, key);
      WAGGLE_CHECK(status.ok(), status.ToString());
      evicted = true;
    }
  }
  if (evicted) {
    WAGGLE_FAILPOINT("evict").IgnoreError();
  }
  return changed;
}

void JournalBatch::EncodeWriter(uint64_t number, JournalWriter* writer, const std::vector<WriterMark>& marks) {
  const std::shared_ptr<WriterSession> session = writer->session.lock();
  if (session == nullptr) {
    return;  // It will be forgotten soon.
  }
  for (const WriterMark& mark : marks) {
    writer->marks[mark.table] = mark;
    v1::StoredMark proto;
    proto.set_sequence(mark.sequence);
    proto.set_items(mark.items);
    Put(Family::kWriters, MarkKey(number, mark.table), proto.SerializeAsString());
  }
  if (!std::exchange(writer->described, true)) {
    v1::StoredWriter proto;
    proto.set_id(writer->id);
    proto.set_incarnation(session->incarnation());
    for (const std::shared_ptr<Table>& table : session->tables()) {
      proto.add_tables(table->name());
    }
    for (const ArraySpec& column : session->signature()) {
      *proto.add_signature() = ToProto(column);
    }
    for (const Codec codec : ColumnCodecs(session->signature(), session->tables().front()->created().compression)) {
      proto.add_codecs(ToProto(codec));
    }
    Put(Family::kWriters, WriterKey(number), proto.SerializeAsString());
  }
  const WriterChanges changes = session->TakeChanges(writer->InTables());
  writer->sequence = changes.sequence;
  for (const StreamRecord& stream : changes.streams) {
    EncodeStream(number, stream, writer);
  }
  v1::StoredProgress proto;
  proto.set_sequence(writer->sequence);
  proto.set_items_inserted(changes.counts.items_inserted);
  proto.set_items_without_rows(changes.counts.items_without_rows);
  for (const auto& [sequence, fingerprint] : changes.fingerprints) {
    proto.add_block_sequence(sequence);
    proto.add_block_fingerprint(fingerprint);
  }
  Put(Family::kWriters, ProgressKey(number), proto.SerializeAsString());
  told_.push_back(number);
}

void JournalBatch::EncodeStream(uint64_t number, const StreamRecord& stream, JournalWriter* writer) {
  v1::StoredStream proto;
  proto.set_first(stream.first);
  proto.set_next(stream.next);
  std::vector<ChunkRef> chunks;
  for (const StreamRecord::Part& part : stream.parts) {
    proto.add_part_first_row(part.first_row);
    proto.add_part_block(part.chunk->durable()->id);
    proto.add_part_chunk(part.chunk->index());
    AddBlock(part.chunk);
    chunks.push_back(part.chunk);
  }
  Put(Family::kWriters, StreamKey(number, stream.stream), proto.SerializeAsString());
  replaced_.push_back(std::exchange(writer->streams[stream.stream], std::move(chunks)));
}

void JournalBatch::DeleteBlocks(const std::vector<uint64_t>& blocks) {
  for (const uint64_t block : blocks) {
    DeleteBlock(block, database_, &records_);
  }
}

void JournalBatch::DropTable(uint64_t table, JournalState* state) {
  DroppedTable dropped;
  dropped.number = table;
  for (auto& [number, writer] : state->writers) {
    for (std::vector<uint64_t>* tables : {&writer.logged, &writer.checkpointed}) {
      tables->erase(std::remove(tables->begin(), tables->end(), table), tables->end());
    }
    if (writer.marks.erase(table) > 0) {
      dropped.writers.push_back(number);
    }
  }
  if (const auto known = state->tables.find(table); known != state->tables.end()) {
    sync_ = sync_ || known->second.table->created().log_sync;
    state->tables.erase(known);
  }
  tables_.erase(table);
  dropped_tables_.push_back(std::move(dropped));
}

void JournalBatch::DropWriter(uint64_t writer, JournalState* state) {
  state->writers.erase(writer);
  dropped_writers_.push_back(writer);
}

void JournalBatch::DeleteTable(const DroppedTable& table) {
  rocksdb::ColumnFamilyHandle* const meta = database_->family(Family::kMeta);
  rocksdb::Status status = records_.Delete(meta, TableKey(table.number));
  status = status.ok() ? records_.Delete(meta, CountersKey(table.number)) : status;
  status = status.ok() ? records_.DeleteRange(database_->family(Family::kItems), ItemKey(table.number, 0),
                                              ItemsEnd(table.number))
                       : status;
  for (const uint64_t writer : table.writers) {
    status = status.ok() ? records_.Delete(database_->family(Family::kWriters), MarkKey(writer, table.number)) : status;
  }
  WAGGLE_CHECK(status.ok(), status.ToString());
}

void JournalBatch::DeleteWriter(uint64_t writer) {
  rocksdb::ColumnFamilyHandle* const writers = database_->family(Family::kWriters);
  rocksdb::Status status = records_.Delete(writers, WriterKey(writer));
  status = status.ok() ? records_.Delete(writers, ProgressKey(writer)) : status;
  status = status.ok() ? records_.DeleteRange(writers, MarkKey(writer, 0), MarkKey(writer + 1, 0)) : status;
  status = status.ok() ? records_.DeleteRange(writers, StreamKey(writer, 0), StreamKey(writer + 1, 0)) : status;
  WAGGLE_CHECK(status.ok(), status.ToString());
}

void JournalBatch::TellWriters(const JournalState& state) const {
  for (const uint64_t number : told_) {
    const auto writer = state.writers.find(number);
    if (writer == state.writers.end()) {
      continue;
    }
    if (const std::shared_ptr<WriterSession> session = writer->second.session.lock(); session != nullptr) {
      session->SetWritten(writer->second.sequence, writer->second.Durable());
    }
  }
}

}  // namespace waggle
