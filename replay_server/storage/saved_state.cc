#include "replay_server/storage/saved_state.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/net/array_spec_convert.h"
#include "common/replay/blocks/block_compression.h"
#include "common/replay/replay_convert.h"
#include "common/replay/table_config_convert.h"
#include "replay_server/rows/chunk_tier.h"
#include "replay_server/storage/record_scan.h"
#include "replay_server/storage/records.h"
#include "replay_server/storage/saved_blocks.h"
#include "replay_server/storage/saved_checks.h"
#include "replay_server/table/table.h"
#include "waggle/v1/replay_storage.pb.h"

namespace waggle {
namespace {

using Family = Database::Family;

// Tables, writers and blocks that are gone may be in a cut that their experiment goes back to, so their numbers must
// not be given again. The clock is ahead of all numbers given so far, as fewer than a million are given in a second.
uint64_t FirstNewNumber() {
  return static_cast<uint64_t>(std::max<int64_t>(1, absl::ToUnixMicros(absl::Now())));
}

class Loader {
 public:
  explicit Loader(Database* database) : database_(database), blocks_(database) {
    state_.next_number = FirstNewNumber();
  }

  absl::StatusOr<SavedState> Load() {
    WAGGLE_ASSIGN_OR_RETURN(state_.format, FormatOf(database_));
    WAGGLE_RETURN_IF_ERROR(ForEach(Family::kMeta, [this](auto key, auto value) { return TakeMeta(key, value); }));
    WAGGLE_RETURN_IF_ERROR(ForEach(Family::kWriters, [this](auto key, auto value) { return TakeWriter(key, value); }));
    WAGGLE_RETURN_IF_ERROR(CompleteWriters());
    WAGGLE_RETURN_IF_ERROR(ForEach(Family::kItems, [this](auto key, auto value) { return TakeItem(key, value); }));
    WAGGLE_RETURN_IF_ERROR(WAGGLE_FAILPOINT("restore.middle"));
    WAGGLE_RETURN_IF_ERROR(blocks_.Load(FirstNewNumber()));
    WAGGLE_RETURN_IF_ERROR(ResolveItems());
    WAGGLE_RETURN_IF_ERROR(ResolveStreams());
    return Finish();
  }

 private:
  struct Table {
    SavedTable saved;
    bool configured = false;
    std::shared_ptr<const RowLayout> layout;
    std::vector<ChunkNames> chunks;  // By item.
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

  // One layout for each signature: only tables and writers with the same signature share rows.
  std::shared_ptr<const RowLayout> LayoutOf(const std::vector<ArraySpec>& signature, const std::vector<Codec>& codecs) {
    for (const std::shared_ptr<const RowLayout>& layout : layouts_) {
      if (layout->signature == signature && layout->codec_of == codecs) {
        return layout;
      }
    }
    layouts_.push_back(std::make_shared<RowLayout>(signature, codecs));
    return layouts_.back();
  }

  template <class Take>
  absl::Status ForEach(Family family, const Take& take) {
    return ForEachRecord(database_, family, /*kind=*/"", take);
  }

  template <class Proto>
  static absl::StatusOr<Proto> Parse(absl::string_view bytes) {
    Proto proto;
    if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return absl::DataLossError(absl::StrCat("a ", proto.GetTypeName(), " cannot be read"));
    }
    return proto;
  }

  // Values were valid when they were written: an invalid one is damage.
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
          proto.incarnation(),  proto.next_generation(),
          proto.inserted(),     proto.sampled(),
          proto.removed(),      {proto.priorities_applied(), proto.priorities_stale(), proto.priorities_unknown()},
          proto.ratio_carried()};
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
      WAGGLE_ASSIGN_OR_RETURN(const Codec codec, Intact(FromProto(proto.codecs(i))));
      codecs.push_back(codec);
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

  // Marks have tables' numbers; writers refer to tables by name.
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
      const SavedTier tier = TierOf(writer.saved.tables);
      for (const Stream& stream : writer.streams) {
        WAGGLE_RETURN_IF_ERROR(blocks_.Need(stream.names, writer.layout, tier));
      }
    }
    return absl::OkStatus();
  }

  // New items over a stream may go to any table of its writer. If one is missing or has no limit, rows stay in memory.
  SavedTier TierOf(const std::vector<std::string>& names) const {
    SavedTier tier;
    for (const std::string& name : names) {
      const auto table = FindTable(name);
      tier.Add(table == tables_.end() ? nullptr : table->second.saved.tier);
    }
    return tier;
  }

  std::map<uint64_t, Table>::const_iterator FindTable(const std::string& name) const {
    return std::find_if(tables_.begin(), tables_.end(),
                        [&name](const auto& each) { return each.second.saved.created.name == name; });
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
    SavedTier tier;
    tier.Add(table->second.saved.tier);
    WAGGLE_RETURN_IF_ERROR(blocks_.Need(item.chunks, table->second.layout, tier));
    table->second.saved.items.push_back(std::move(item.item));
    table->second.chunks.push_back(std::move(item.chunks));
    return absl::OkStatus();
  }

  absl::Status ResolveItems() {
    for (auto& [number, table] : tables_) {
      for (size_t i = 0; i < table.saved.items.size(); ++i) {
        ItemRecord& item = table.saved.items[i];
        for (const ChunkName& name : table.chunks[i]) {
          WAGGLE_ASSIGN_OR_RETURN(ChunkRef chunk, blocks_.Resolve(name, item.pins, number));
          item.chunks.push_back(std::move(chunk));
        }
        WAGGLE_RETURN_IF_ERROR(CheckItem(table.saved, item));
      }
      LogInfo("restored table \"", table.saved.created.name, "\": ", table.saved.items.size(), " items");
    }
    return absl::OkStatus();
  }

  absl::Status ResolveStreams() {
    for (auto& [number, writer] : writers_) {
      const std::vector<std::string>& tables = writer.saved.tables;
      for (Stream& stream : writer.streams) {
        for (size_t i = 0; i < stream.names.size(); ++i) {
          WAGGLE_ASSIGN_OR_RETURN(stream.record.parts[i].chunk,
                                  blocks_.Resolve(stream.names[i], tables.size(), number));
          // The tables' order is the holders' order for new items over these rows. Saved owners must agree.
          for (size_t pins = 0; pins < tables.size(); ++pins) {
            if (const auto table = FindTable(tables[pins]); table != tables_.end()) {
              WAGGLE_RETURN_IF_ERROR(blocks_.Resolve(stream.names[i], pins, table->first).status());
            }
          }
        }
        WAGGLE_RETURN_IF_ERROR(CheckStream(writer.saved.id, stream.record));
        writer.saved.streams.push_back(std::move(stream.record));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<SavedState> Finish() {
    state_.ledger = blocks_.ledger();
    state_.orphans = blocks_.orphans();
    std::set<std::string> names;
    for (auto& [number, table] : tables_) {
      // Checked here, where a checkpoint can still replace the database.
      WAGGLE_RETURN_IF_ERROR(waggle::Table::CheckSaved(table.saved));
      if (!names.insert(table.saved.created.name).second) {
        return absl::DataLossError(absl::StrCat("table \"", table.saved.created.name, "\" was saved twice"));
      }
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
  SavedBlocks blocks_;
};

}  // namespace

absl::StatusOr<uint32_t> FormatOf(Database* database) {
  WAGGLE_ASSIGN_OR_RETURN(const std::string bytes, GetRecord(database, Family::kMeta, kFormatKey));
  v1::StoredFormat format;
  if (!format.ParseFromString(bytes)) {
    return absl::DataLossError("its format cannot be read");
  }
  if (format.version() > kStorageFormat) {
    return absl::FailedPreconditionError(absl::StrCat("a newer server has written it, in format ", format.version(),
                                                      "; this one reads up to ", kStorageFormat));
  }
  return format.version();
}

absl::StatusOr<SavedState> LoadSavedState(Database* database) {
  return Loader(database).Load();
}

}  // namespace waggle
