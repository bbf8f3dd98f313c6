#include "replay_server/storage/take_experiment.h"

#include <cstdint>
#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/config/table/table_name.h"
#include "replay_server/rows/block_ledger.h"
#include "replay_server/storage/record_scan.h"
#include "replay_server/storage/records.h"
#include "replay_server/storage/saved_checks.h"
#include "replay_server/storage/saved_state.h"
#include "waggle/v1/replay_storage.pb.h"

namespace waggle {
namespace {

using Family = Database::Family;

constexpr char kServers[] = "the server's own database";
constexpr size_t kBatchBytes = size_t{16} << 20;

// Numbers of an experiment's tables and writers.
struct Numbers {
  std::set<uint64_t> tables;
  std::set<uint64_t> writers;
};

absl::StatusOr<Numbers> NumbersOf(const std::string& experiment, Database* database) {
  Numbers numbers;
  WAGGLE_RETURN_IF_ERROR(ForEachRecord(database, Family::kMeta, "t", [&](auto key, auto value) -> absl::Status {
    WAGGLE_ASSIGN_OR_RETURN(const ParsedKey parsed, ParseKeyOf("t", key));
    v1::StoredTable table;
    if (!table.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
      return absl::DataLossError(absl::StrCat("table number ", parsed.first, " cannot be read"));
    }
    if (ExperimentOfTable(table.created().name()) == experiment) {
      numbers.tables.insert(parsed.first);
    }
    return absl::OkStatus();
  }));
  WAGGLE_RETURN_IF_ERROR(ForEachRecord(database, Family::kWriters, "w", [&](auto key, auto value) -> absl::Status {
    WAGGLE_ASSIGN_OR_RETURN(const ParsedKey parsed, ParseKeyOf("w", key));
    v1::StoredWriter writer;
    if (!writer.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
      return absl::DataLossError(absl::StrCat("writer number ", parsed.first, " cannot be read"));
    }
    int own = 0;
    for (const std::string& table : writer.tables()) {
      own += ExperimentOfTable(table) == experiment ? 1 : 0;
    }
    if (own > 0 && own < writer.tables_size()) {
      return absl::FailedPreconditionError(
          absl::StrCat("writer \"", writer.id(), "\" has tables of several experiments, which cannot go back alone"));
    }
    if (own > 0) {
      numbers.writers.insert(parsed.first);
    }
    return absl::OkStatus();
  }));
  return numbers;
}

// Writes to a database that no other process uses, without a log.
class Sink {
 public:
  explicit Sink(Database* database) : database_(database) {}

  absl::Status Put(Family family, absl::string_view key, absl::string_view value) {
    WAGGLE_RETURN_IF_ERROR(
        FromRocksDb(batch_.Put(database_->family(family), {key.data(), key.size()}, {value.data(), value.size()})));
    return batch_.GetDataSize() < kBatchBytes ? absl::OkStatus() : Write();
  }
  absl::Status Delete(Family family, const std::string& key) {
    return FromRocksDb(batch_.Delete(database_->family(family), key));
  }
  absl::Status DeleteRange(Family family, const std::string& begin, const std::string& end) {
    return FromRocksDb(batch_.DeleteRange(database_->family(family), begin, end));
  }

  // Returns once the disk has everything.
  absl::Status Finish() {
    WAGGLE_RETURN_IF_ERROR(Write());
    for (const Family family : {Family::kMeta, Family::kItems, Family::kBlocks, Family::kWriters}) {
      WAGGLE_RETURN_IF_ERROR(FromRocksDb(database_->get()->Flush(rocksdb::FlushOptions(), database_->family(family))));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Write() {
    rocksdb::WriteOptions options;
    options.disableWAL = true;
    WAGGLE_RETURN_IF_ERROR(FromRocksDb(database_->get()->Write(options, &batch_)));
    batch_.Clear();
    return absl::OkStatus();
  }

  Database* const database_;
  rocksdb::WriteBatch batch_;
};

// The blocks that stay without a reference are removed when the database is opened.
absl::Status Remove(const Numbers& numbers, Sink* sink) {
  for (const uint64_t table : numbers.tables) {
    WAGGLE_RETURN_IF_ERROR(sink->Delete(Family::kMeta, TableKey(table)));
    WAGGLE_RETURN_IF_ERROR(sink->Delete(Family::kMeta, CountersKey(table)));
    WAGGLE_RETURN_IF_ERROR(sink->DeleteRange(Family::kItems, ItemKey(table, 0), ItemsEnd(table)));
  }
  for (const uint64_t writer : numbers.writers) {
    WAGGLE_RETURN_IF_ERROR(sink->Delete(Family::kWriters, WriterKey(writer)));
    WAGGLE_RETURN_IF_ERROR(sink->Delete(Family::kWriters, ProgressKey(writer)));
    WAGGLE_RETURN_IF_ERROR(sink->DeleteRange(Family::kWriters, MarkKey(writer, 0), MarkKey(writer + 1, 0)));
    WAGGLE_RETURN_IF_ERROR(sink->DeleteRange(Family::kWriters, StreamKey(writer, 0), StreamKey(writer + 1, 0)));
  }
  return absl::OkStatus();
}

class Copy {
 public:
  Copy(Database* from, Database* to, Sink* sink) : from_(from), to_(to), sink_(sink) {}

  absl::Status Run(const Numbers& numbers) {
    for (const uint64_t table : numbers.tables) {
      WAGGLE_RETURN_IF_ERROR(CopyNew(Family::kMeta, TableKey(table)).status());
      WAGGLE_RETURN_IF_ERROR(CopyIfThere(Family::kMeta, CountersKey(table)));
      WAGGLE_RETURN_IF_ERROR(ForEachInRange(from_, Family::kItems, ItemKey(table, 0), ItemsEnd(table),
                                            [this](auto key, auto value) -> absl::Status {
                                              WAGGLE_ASSIGN_OR_RETURN(const StoredItem item, DecodeItem(value));
                                              for (const ChunkName& chunk : item.chunks) {
                                                blocks_.insert(chunk.block);
                                              }
                                              return sink_->Put(Family::kItems, key, value);
                                            }));
    }
    for (const uint64_t writer : numbers.writers) {
      WAGGLE_RETURN_IF_ERROR(CopyNew(Family::kWriters, WriterKey(writer)).status());
      WAGGLE_RETURN_IF_ERROR(CopyIfThere(Family::kWriters, ProgressKey(writer)));
      WAGGLE_RETURN_IF_ERROR(
          ForEachInRange(from_, Family::kWriters, MarkKey(writer, 0), MarkKey(writer + 1, 0),
                         [this](auto key, auto value) { return sink_->Put(Family::kWriters, key, value); }));
      WAGGLE_RETURN_IF_ERROR(
          ForEachInRange(from_, Family::kWriters, StreamKey(writer, 0), StreamKey(writer + 1, 0),
                         [this](auto key, auto value) -> absl::Status {
                           v1::StoredStream stream;
                           if (!stream.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
                             return absl::DataLossError("a stream's record cannot be read");
                           }
                           blocks_.insert(stream.part_block().begin(), stream.part_block().end());
                           return sink_->Put(Family::kWriters, key, value);
                         }));
    }
    for (const uint64_t block : blocks_) {
      if ((block & kTieredBlock) == 0) {
        WAGGLE_RETURN_IF_ERROR(CopyNew(Family::kBlocks, BlockKey(block)).status());
        continue;
      }
      WAGGLE_ASSIGN_OR_RETURN(const bool copied, CopyNew(Family::kBlocks, HeadKey(block)));
      if (copied) {
        WAGGLE_RETURN_IF_ERROR(CopyNew(Family::kBlocks, RowsKey(block)).status());
      }
    }
    return absl::OkStatus();
  }

 private:
  // Copies a record that must be there. Returns false if `to` has the same one. Records of the experiment's own tables
  // and writers are removed before.
  absl::StatusOr<bool> CopyNew(Family family, const std::string& key) {
    WAGGLE_ASSIGN_OR_RETURN(const std::string value, GetRecord(from_, family, key));
    const absl::StatusOr<std::string> there = to_->Get(family, key);
    if (absl::IsNotFound(there.status())) {
      WAGGLE_RETURN_IF_ERROR(sink_->Put(family, key, value));
      return true;
    }
    WAGGLE_RETURN_IF_ERROR(Annotate(there.status(), kServers));
    if (*there == value) {
      return false;
    }
    WAGGLE_ASSIGN_OR_RETURN(const ParsedKey parsed, ParseKey(key));
    return absl::FailedPreconditionError(absl::StrCat(
        "number ", parsed.first & ~kTieredBlock,
        " means something else in the server's database: a record is damaged, or the clock has gone back"));
  }

  absl::Status CopyIfThere(Family family, const std::string& key) {
    const absl::StatusOr<std::string> value = from_->Get(family, key);
    return absl::IsNotFound(value.status()) ? absl::OkStatus()
           : value.ok()                     ? sink_->Put(family, key, *value)
                                            : value.status();
  }

  Database* const from_;
  Database* const to_;
  Sink* const sink_;
  std::set<uint64_t> blocks_;
};

}  // namespace

absl::Status TakeExperiment(const std::string& experiment, Database* from, Database* to) {
  WAGGLE_RETURN_IF_ERROR(FormatOf(from).status());
  WAGGLE_ASSIGN_OR_RETURN(const Numbers coming, NumbersOf(experiment, from));
  const absl::StatusOr<Numbers> going = NumbersOf(experiment, to);
  WAGGLE_RETURN_IF_ERROR(Annotate(going.status(), kServers));
  Sink sink(to);
  WAGGLE_RETURN_IF_ERROR(Remove(*going, &sink));
  WAGGLE_RETURN_IF_ERROR(sink.Finish());
  WAGGLE_RETURN_IF_ERROR(Copy(from, to, &sink).Run(coming));
  return sink.Finish();
}

}  // namespace waggle
