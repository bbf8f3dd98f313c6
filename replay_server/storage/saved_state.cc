#include "replay_server/storage/saved_state.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/api/block_compression.h"
#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/clients/table_config_convert.h"
#include "common/rpc/array_spec_convert.h"
#include "replay_server/storage/records.h"
#include "replay_server/storage/saved_checks.h"
#include "replay_server/table/chunk_tier.h"
#include "waggle/v1/replay_storage.pb.h"

namespace waggle {
namespace {

using Family = Database::Family;

class Loader {
 public:
  explicit Loader(Database* database) : database_(database) {}

  absl::StatusOr<SavedState> Load() {
    WAGGLE_RETURN_IF_ERROR(LoadFormat());
    WAGGLE_RETURN_IF_ERROR(ForEach(Family::kMeta, [this](auto key, auto value) { return TakeMeta(key, value); }));
    WAGGLE_RETURN_IF_ERROR(ForEach(Family::kWriters, [this](auto key, auto value) { return TakeWriter(key, value); }));
    WAGGLE_RETURN_IF_ERROR(CompleteWriters());
    WAGGLE_RETURN_IF_ERROR(ForEach(Family::kItems, [this](auto key, auto value) { return TakeItem(key, value); }));
    WAGGLE_RETURN_IF_ERROR(WAGGLE_FAILPOINT("restore.middle"));
    WAGGLE_RETURN_IF_ERROR(LoadBlocks());
    WAGGLE_RETURN_IF_ERROR(ResolveStreams());
    return Finish();
  }

 private:
  // Of a block: the one of the largest limit among those of the tables that may refer to it.
  struct Tier {
    void Add(const std::shared_ptr<ChunkTier>& tier) {
      in_memory = in_memory || tier == nullptr;
      largest = largest == nullptr || (tier != nullptr && tier->limit() > largest->limit()) ? tier : largest;
    }
    void Add(const Tier& other) {
      in_memory = in_memory || other.in_memory;
      if (other.largest != nullptr) {
        Add(other.largest);
      }
    }

    std::shared_ptr<ChunkTier> largest;
    bool in_memory = false;
  };
  struct Table {
    SavedTable saved;
    bool configured = false;
    std::shared_ptr<const RowLayout> layout;
    std::vector<ChunkNames> chunks;  // Of its items.
  };
  struct Stream {
    StreamRecord record;
    ChunkNames names;
  };
  struct Writer {
    SavedWriter saved;
    bool described = false;
    std::shared_ptr<const RowLayout> layout;
    std::vector<Stream> streams;
    std::vector<WriterMark> marks;
  };

  // One for all who have these columns: rows are shared by such only.
  std::shared_ptr<const RowLayout> LayoutOf(const std::vector<ArraySpec>& signature, const std::vector<Codec>& codecs) {
    for (const std::shared_ptr<const RowLayout>& layout : layouts_) {
      if (layout->signature == signature && layout->codec_of == codecs) {
        return layout;
      }
    }
    layouts_.push_back(std::make_shared<RowLayout>(signature, codecs));
    return layouts_.back();
  }

  absl::Status LoadFormat() {
    WAGGLE_ASSIGN_OR_RETURN(const std::string bytes, MissingIsDamage(database_->Get(Family::kMeta, kFormatKey)));
    v1::StoredFormat format;
    if (!format.ParseFromString(bytes)) {
      return absl::DataLossError("its format cannot be read");
    }
    if (format.version() > kStorageFormat) {
      return absl::FailedPreconditionError(absl::StrCat("it has format ", format.version(),
                                                        ", of a newer server; this "
                                                        "one reads up to ",
                                                        kStorageFormat));
    }
    state_.format = format.version();
    return absl::OkStatus();
  }

  static absl::Status CheckRowsSize(const std::string& record, uint64_t bytes) {
    return record.size() == bytes + kRowsTrailerBytes
               ? absl::OkStatus()
               : absl::DataLossError(absl::StrCat("a record of ", record.size(), " bytes has not ", bytes,
                                                  " bytes of rows, as its head says"));
  }

  static absl::StatusOr<std::string> MissingIsDamage(absl::StatusOr<std::string> value) {
    if (absl::IsNotFound(value.status())) {
      return absl::DataLossError(value.status().message());
    }
    return value;
  }

  // Of one kind, if that is given: the records of others are not touched, which may be many and large.
  template <class Take>
  absl::Status ForEach(Family family, const Take& take, const std::string& kind = "") {
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    options.readahead_size = size_t{2} << 20;
    const std::string after = kind.empty() ? "" : std::string(1, static_cast<char>(kind[0] + 1));
    const rocksdb::Slice end(after);
    options.iterate_upper_bound = kind.empty() ? nullptr : &end;
    const std::unique_ptr<rocksdb::Iterator> it(database_->get()->NewIterator(options, database_->family(family)));
    for (it->Seek(kind); it->Valid(); it->Next()) {
      const absl::string_view key(it->key().data(), it->key().size());
      const absl::string_view value(it->value().data(), it->value().size());
      WAGGLE_RETURN_IF_ERROR(take(key, value));
    }
    return FromRocksDb(it->status());
  }

  template <class Proto>
  static absl::StatusOr<Proto> Parse(absl::string_view bytes) {
    Proto proto;
    if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return absl::DataLossError(absl::StrCat("a ", proto.GetTypeName(), " cannot be read"));
    }
    return proto;
  }

  // What was valid when it was written and is not now was damaged.
  template <class T>
  static absl::StatusOr<T> Intact(absl::StatusOr<T> value) {
    return value.ok() ? value : absl::DataLossError(value.status().message());
  }

  absl::Status TakeMeta(absl::string_view key, absl::string_view value) {
    if (key == kFormatKey) {
      return absl::OkStatus();
    }
    if (key == kCheckpointKey) {
      WAGGLE_ASSIGN_OR_RETURN(const auto proto, Parse<v1::StoredCheckpoint>(value));
      state_.checkpoint = proto.number();
      state_.checkpoint_unix_seconds = proto.unix_seconds();
      return absl::OkStatus();
    }
    WAGGLE_ASSIGN_OR_RETURN(const ParsedKey parsed, ParseKeyOf("tc", key));
    Table& table = tables_[parsed.first];
    state_.next_number = std::max(state_.next_number, parsed.first + 1);
    if (parsed.kind == 'c') {
      WAGGLE_ASSIGN_OR_RETURN(const auto proto, Parse<v1::StoredCounters>(value));
      table.saved.counters = {
          proto.incarnation(), proto.next_generation(),
          proto.inserted(),    proto.sampled(),
          proto.removed(),     {proto.priorities_applied(), proto.priorities_stale(), proto.priorities_unknown()}};
      return CheckCounters(table.saved.counters);
    }
    WAGGLE_ASSIGN_OR_RETURN(const auto proto, Parse<v1::StoredTable>(value));
    table.saved.number = parsed.first;
    WAGGLE_ASSIGN_OR_RETURN(table.saved.created, Intact(FromProto(proto.created())));
    WAGGLE_ASSIGN_OR_RETURN(table.saved.config, Intact(FromProto(proto.config())));
    table.saved.config_generation = proto.config_generation();
    const TableConfig& created = table.saved.created;
    table.layout = LayoutOf(created.signature, ColumnCodecs(created.signature, created.compression));
    table.configured = true;
    if (table.saved.config.memory_limit > 0) {
      table.saved.tier = std::make_shared<ChunkTier>(table.saved.created.name, table.saved.config.memory_limit);
    }
    return absl::OkStatus();
  }

  absl::Status TakeWriter(absl::string_view key, absl::string_view value) {
    WAGGLE_ASSIGN_OR_RETURN(const ParsedKey parsed, ParseKeyOf("wpms", key));
    Writer& writer = writers_[parsed.first];
    state_.next_number = std::max(state_.next_number, parsed.first + 1);
    writer.saved.number = parsed.first;
    switch (parsed.kind) {
      case 'w':
        return TakeDescription(value, &writer);
      case 'p':
        return TakeProgress(value, &writer);
      case 'm': {
        WAGGLE_ASSIGN_OR_RETURN(const auto proto, Parse<v1::StoredMark>(value));
        writer.marks.push_back({parsed.first, proto.sequence(), proto.items(), parsed.second});
        return CheckSequence(proto.sequence());
      }
      default:
        return TakeStream(static_cast<uint32_t>(parsed.second), value, &writer);
    }
  }

  absl::Status TakeDescription(absl::string_view value, Writer* writer) {
    WAGGLE_ASSIGN_OR_RETURN(const auto proto, Parse<v1::StoredWriter>(value));
    writer->saved.id = proto.id();
    writer->saved.incarnation = proto.incarnation();
    writer->saved.tables.assign(proto.tables().begin(), proto.tables().end());
    WAGGLE_ASSIGN_OR_RETURN(writer->saved.signature, Intact(FromProto(proto.signature())));
    std::vector<Codec> codecs;
    for (int i = 0; i < proto.codecs_size(); ++i) {
      switch (proto.codecs(i)) {
        case v1::ColumnCompression::CODEC_LZ4:
          codecs.push_back(Codec::kLz4);
          break;
        case v1::ColumnCompression::CODEC_ZSTD:
          codecs.push_back(Codec::kZstd);
          break;
        default:
          codecs.push_back(Codec::kNone);
      }
    }
    if (codecs.size() != writer->saved.signature.size()) {
      return absl::DataLossError(absl::StrCat("writer \"", proto.id(), "\" has codecs for ", codecs.size(),
                                              " columns, and has ", writer->saved.signature.size()));
    }
    writer->layout = LayoutOf(writer->saved.signature, codecs);
    writer->saved.codecs = std::move(codecs);
    writer->described = true;
    return absl::OkStatus();
  }

  static absl::Status TakeProgress(absl::string_view value, Writer* writer) {
    WAGGLE_ASSIGN_OR_RETURN(const auto proto, Parse<v1::StoredProgress>(value));
    if (proto.block_sequence_size() != proto.block_fingerprint_size()) {
      return absl::DataLossError("a writer's progress contradicts itself");
    }
    writer->saved.sequence = proto.sequence();
    writer->saved.counts = {proto.items_inserted(), proto.items_without_rows()};
    for (int i = 0; i < proto.block_sequence_size(); ++i) {
      writer->saved.fingerprints.emplace_back(proto.block_sequence(i), proto.block_fingerprint(i));
    }
    return CheckSequence(proto.sequence());
  }

  static absl::Status TakeStream(uint32_t number, absl::string_view value, Writer* writer) {
    WAGGLE_ASSIGN_OR_RETURN(const auto proto, Parse<v1::StoredStream>(value));
    if (proto.part_first_row_size() != proto.part_block_size() ||
        proto.part_first_row_size() != proto.part_chunk_size()) {
      return absl::DataLossError("a stream's record contradicts itself");
    }
    Stream stream;
    stream.record.stream = number;
    stream.record.first = proto.first();
    stream.record.next = proto.next();
    for (int i = 0; i < proto.part_first_row_size(); ++i) {
      stream.record.parts.push_back({proto.part_first_row(i), ChunkRef()});
      stream.names.push_back({proto.part_block(i), proto.part_chunk(i)});
    }
    writer->streams.push_back(std::move(stream));
    return absl::OkStatus();
  }

  // Marks are by the tables' numbers; writers know them by their names.
  absl::Status CompleteWriters() {
    for (auto& [number, table] : tables_) {
      if (!table.configured) {
        return absl::DataLossError(absl::StrCat("table number ", number, " has counters and no configuration"));
      }
    }
    for (auto& [number, writer] : writers_) {
      if (!writer.described || tables_.count(number) > 0) {
        return absl::DataLossError(
            absl::StrCat("writer number ", number, writer.described ? " is a table, too" : " has no name"));
      }
      for (const WriterMark& mark : writer.marks) {
        const auto table = tables_.find(mark.table);
        if (table == tables_.end()) {
          return absl::DataLossError(absl::StrCat("writer \"", writer.saved.id, "\" has written to table number ",
                                                  mark.table, ", which is not there"));
        }
        writer.saved.marks.emplace_back(table->second.saved.created.name, mark);
        table->second.saved.marks.push_back(mark);
      }
      const Tier tier = TierOf(writer.saved.tables);
      for (const Stream& stream : writer.streams) {
        WAGGLE_RETURN_IF_ERROR(NoteNeeds(stream.names, writer.layout, tier));
      }
    }
    return absl::OkStatus();
  }

  // New items over a stream's rows may go to any of its writer's tables: where one is not there yet, or has no limit,
  // the rows stay in memory.
  Tier TierOf(const std::vector<std::string>& names) const {
    Tier tier;
    for (const std::string& name : names) {
      const auto table = std::find_if(tables_.begin(), tables_.end(),
                                      [&name](const auto& each) { return each.second.saved.created.name == name; });
      tier.Add(table == tables_.end() ? nullptr : table->second.saved.tier);
    }
    return tier;
  }

  absl::Status NoteNeeds(const ChunkNames& names, const std::shared_ptr<const RowLayout>& layout, const Tier& tier) {
    for (const ChunkName& name : names) {
      Block& block = needed_[name.block];
      block.layout = block.layout != nullptr ? block.layout : layout;
      block.tier.Add(tier);
      if (block.layout != layout) {
        return absl::DataLossError(absl::StrCat("block ", name.block, " is shared by rows of different columns"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status TakeItem(absl::string_view key, absl::string_view value) {
    WAGGLE_ASSIGN_OR_RETURN(const ParsedKey parsed, ParseKeyOf("i", key));
    const auto table = tables_.find(parsed.first);
    if (table == tables_.end()) {
      return absl::DataLossError(
          absl::StrCat("there are items of table number ", parsed.first, ", which is not there"));
    }
    WAGGLE_ASSIGN_OR_RETURN(StoredItem item, DecodeItem(value));
    item.item.slot = static_cast<uint32_t>(parsed.second);
    Tier tier;
    tier.Add(table->second.saved.tier);
    WAGGLE_RETURN_IF_ERROR(NoteNeeds(item.chunks, table->second.layout, tier));
    table->second.saved.items.push_back(std::move(item.item));
    table->second.chunks.push_back(std::move(item.chunks));
    return absl::OkStatus();
  }

  struct Block {
    std::shared_ptr<const RowLayout> layout;
    Tier tier;
    std::vector<ChunkRef> chunks;
    std::vector<uint64_t> owners;  // By holder: the number of the table or writer that it is; 0 where nobody is yet.
  };

  // Moves the next number past those of this kind of records.
  absl::Status NoteLast(char kind, uint64_t* next) {
    const std::unique_ptr<rocksdb::Iterator> it(
        database_->get()->NewIterator(rocksdb::ReadOptions(), database_->family(Family::kBlocks)));
    it->SeekForPrev(std::string(1, static_cast<char>(kind + 1)));
    if (it->Valid() && it->key()[0] == kind) {
      WAGGLE_ASSIGN_OR_RETURN(const ParsedKey last,
                              ParseKeyOf(std::string(1, kind), {it->key().data(), it->key().size()}));
      *next = std::max(*next, (last.first & ~kTieredBlock) + 1);
    }
    return FromRocksDb(it->status());
  }

  absl::Status LoadBlocks() {
    // New blocks must not be taken for those that are there.
    uint64_t next = 1;
    WAGGLE_RETURN_IF_ERROR(NoteLast('b', &next));
    WAGGLE_RETURN_IF_ERROR(NoteLast('h', &next));
    state_.ledger = std::make_shared<BlockLedger>(next);
    WAGGLE_RETURN_IF_ERROR(ForEach(
        Family::kBlocks, [this](auto key, auto value) { return TakeBlock(key, value); }, "b"));
    WAGGLE_RETURN_IF_ERROR(ForEach(
        Family::kBlocks, [this](auto key, auto value) { return TakeHead(key, value); }, "h"));
    for (const auto& [number, block] : needed_) {
      if (block.chunks.empty()) {
        return absl::DataLossError(absl::StrCat("block ", number, " of rows is missing"));
      }
    }
    for (auto& [number, table] : tables_) {
      WAGGLE_RETURN_IF_ERROR(ResolveItems(number, &table));
    }
    return absl::OkStatus();
  }

  absl::Status TakeBlock(absl::string_view key, absl::string_view value) {
    WAGGLE_ASSIGN_OR_RETURN(const ParsedKey parsed, ParseKeyOf("b", key));
    const auto needed = needed_.find(parsed.first);
    if (needed == needed_.end()) {
      state_.orphans.push_back(parsed.first);
      return absl::OkStatus();
    }
    WAGGLE_ASSIGN_OR_RETURN(const StoredBlock stored, DecodeBlock(value));
    Block& block = needed->second;
    WAGGLE_ASSIGN_OR_RETURN(const uint64_t bytes, CheckShape(parsed.first, stored, *block.layout));
    if (stored.data.size() != bytes) {
      return absl::DataLossError(
          absl::StrCat("block ", parsed.first, " has ", stored.data.size(), " bytes of rows, and should have ", bytes));
    }
    NewBlock made = MakeChunks(block.layout, stored.rows, stored.holders, stored.piece_bytes,
                               {state_.ledger, stored.checkpointed}, parsed.first);
    std::memcpy(made.data, stored.data.data(), stored.data.size());
    block.chunks = std::move(made.chunks);
    block.owners.resize(stored.holders);
    bytes_ += static_cast<int64_t>(stored.data.size());
    return LogProgress();
  }

  // Of a block whose rows are a record of their own: they stay there, where all who may refer to them have a limit.
  absl::Status TakeHead(absl::string_view key, absl::string_view value) {
    WAGGLE_ASSIGN_OR_RETURN(const ParsedKey parsed, ParseKeyOf("h", key));
    const auto needed = needed_.find(parsed.first);
    if (needed == needed_.end()) {
      state_.orphans.push_back(parsed.first);
      return absl::OkStatus();
    }
    WAGGLE_ASSIGN_OR_RETURN(const StoredBlock stored, DecodeBlockHead(value));
    Block& block = needed->second;
    WAGGLE_ASSIGN_OR_RETURN(const uint64_t bytes, CheckShape(parsed.first, stored, *block.layout));
    block.owners.resize(stored.holders);
    BlockHome home{state_.ledger, stored.checkpointed};
    if (!block.tier.in_memory) {
      home.tier = block.tier.largest;
      block.chunks =
          MakeColdChunks(block.layout, stored.rows, stored.holders, stored.piece_bytes, std::move(home), parsed.first);
      return absl::OkStatus();
    }
    // Before memory is taken for what the head says.
    WAGGLE_ASSIGN_OR_RETURN(const std::string rows,
                            MissingIsDamage(database_->Get(Family::kBlocks, RowsKey(parsed.first))));
    WAGGLE_RETURN_IF_ERROR(CheckRowsSize(rows, bytes));
    NewBlock made =
        MakeChunks(block.layout, stored.rows, stored.holders, stored.piece_bytes, std::move(home), parsed.first);
    WAGGLE_RETURN_IF_ERROR(DecodeRows(parsed.first, rows, made.data, made.bytes));
    block.chunks = std::move(made.chunks);
    bytes_ += static_cast<int64_t>(bytes);
    return LogProgress();
  }

  absl::Status LogProgress() {
    constexpr int64_t kEvery = int64_t{1} << 30;
    if (bytes_ >= logged_ + kEvery) {
      logged_ = bytes_;
      LogInfo("restoring: ", bytes_ >> 20, " MiB of rows so far");
    }
    return absl::OkStatus();
  }

  // `owner` is the table or the writer that refers to the chunk, and counts that among the block's pins alone.
  absl::Status Resolve(const ChunkName& name, size_t pins, uint64_t owner, ChunkRef* chunk) {
    Block& block = needed_.at(name.block);
    if (name.index >= block.chunks.size() || pins >= block.owners.size()) {
      return absl::DataLossError(
          absl::StrCat("block ", name.block, " has no chunk ", name.index, " for holder ", pins));
    }
    uint64_t& known = block.owners[pins];
    known = known == 0 ? owner : known;
    if (known != owner) {
      return absl::DataLossError(absl::StrCat("block ", name.block, " has number ", known, " as its holder ", pins,
                                              ", and number ", owner, " as well"));
    }
    *chunk = block.chunks[name.index];
    return absl::OkStatus();
  }

  absl::Status ResolveItems(uint64_t number, Table* table) {
    for (size_t i = 0; i < table->saved.items.size(); ++i) {
      ItemRecord& item = table->saved.items[i];
      for (const ChunkName& name : table->chunks[i]) {
        ChunkRef chunk;
        WAGGLE_RETURN_IF_ERROR(Resolve(name, item.pins, number, &chunk));
        item.chunks.push_back(std::move(chunk));
      }
      WAGGLE_RETURN_IF_ERROR(CheckItem(table->saved, item));
    }
    LogInfo("restored table \"", table->saved.created.name, "\": ", table->saved.items.size(), " items");
    return absl::OkStatus();
  }

  absl::Status ResolveStreams() {
    for (auto& [number, writer] : writers_) {
      for (Stream& stream : writer.streams) {
        for (size_t i = 0; i < stream.names.size(); ++i) {
          WAGGLE_RETURN_IF_ERROR(
              Resolve(stream.names[i], writer.saved.tables.size(), number, &stream.record.parts[i].chunk));
        }
        WAGGLE_RETURN_IF_ERROR(CheckStream(writer.saved.id, stream.record));
        writer.saved.streams.push_back(std::move(stream.record));
      }
    }
    return absl::OkStatus();
  }

  SavedState Finish() {
    for (auto& [number, table] : tables_) {
      state_.tables.push_back(std::move(table.saved));
    }
    for (auto& [number, writer] : writers_) {
      state_.writers.push_back(std::move(writer.saved));
    }
    return std::move(state_);
  }

  Database* const database_;
  SavedState state_;
  std::vector<std::shared_ptr<const RowLayout>> layouts_;
  std::map<uint64_t, Table> tables_;
  std::map<uint64_t, Writer> writers_;
  absl::flat_hash_map<uint64_t, Block> needed_;
  int64_t bytes_ = 0;
  int64_t logged_ = 0;
};

}  // namespace

absl::StatusOr<SavedState> LoadSavedState(Database* database) {
  return Loader(database).Load();
}

}  // namespace waggle
