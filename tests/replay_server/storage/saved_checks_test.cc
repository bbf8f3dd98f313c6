// Complete records that contradict themselves or each other. They must not be restored as a table with wrong rows or
// counts.
#include "replay_server/storage/saved_checks.h"

#include <functional>
#include <limits>
#include <map>

#include "common/base/tensor/checksum.h"
#include "common/net/array_spec_convert.h"
#include "common/replay/table_config_convert.h"
#include "replay_server/storage/records.h"
#include "replay_server/storage/saved_state.h"
#include "tests/replay_server/storage/durable_replay.h"
#include "waggle/v1/replay_storage.pb.h"

namespace waggle {
namespace {

using Family = Database::Family;
using testing::DurableTable;
using testing::TemporaryFolder;
using testing::ValueOf;

constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();

template <class T>
void Put(T value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string WithChecksum(std::string bytes) {
  Put(Checksum(bytes.data(), bytes.size()), &bytes);
  return bytes;
}

struct Block {
  std::vector<uint32_t> rows;
  std::vector<uint32_t> pieces = {};
  uint32_t holders = 2;
  std::string data = {};

  std::string Head() const {
    std::string bytes;
    Put(static_cast<uint32_t>(rows.size()), &bytes);
    Put(static_cast<uint32_t>(pieces.size()), &bytes);
    Put(holders, &bytes);
    Put(uint8_t{0}, &bytes);
    for (const uint32_t count : rows) {
      Put(count, &bytes);
    }
    for (const uint32_t piece : pieces) {
      Put(piece, &bytes);
    }
    return bytes;
  }
  std::string Record() const { return WithChecksum(Head() + data); }
};

struct Item {
  uint64_t generation = 1;
  double priority = 1;
  uint32_t offset = 0;
  uint32_t rows = 1;
  uint32_t times_sampled = 0;
  uint16_t pins = 0;
  uint8_t context = 0;
  std::vector<ChunkName> chunks = {{1, 0}};

  std::string Record() const {
    std::string bytes;
    Put(generation, &bytes);
    Put(priority, &bytes);
    Put(uint64_t{0}, &bytes);
    Put(offset, &bytes);
    Put(rows, &bytes);
    Put(times_sampled, &bytes);
    Put(pins, &bytes);
    Put(context, &bytes);
    Put(static_cast<uint32_t>(chunks.size()), &bytes);
    for (const ChunkName& chunk : chunks) {
      Put(chunk.block, &bytes);
      Put(chunk.index, &bytes);
    }
    return bytes;
  }
};

// Table 1 with one item. Its writer, number 2, holds both rows of block 1.
struct Saved {
  TableConfig created = DurableTable("t", Durability::kLog);
  TableConfig config = created;
  v1::StoredCounters counters;
  Item item;
  Block block = {{2}, {}, 2, std::string(24, '\0')};
  v1::StoredWriter writer;
  v1::StoredProgress progress;
  v1::StoredStream stream;
  std::map<std::pair<Family, std::string>, std::string> more;

  Saved() {
    counters.set_next_generation(2);
    counters.set_inserted(1);
    writer.set_id("w");
    writer.add_tables("t");
    progress.set_sequence(1);
    stream.set_next(2);
    stream.add_part_first_row(0);
    stream.add_part_block(1);
    stream.add_part_chunk(0);
  }

  // The result of loading the records and of making tables of them.
  absl::Status Restore() const {
    const TemporaryFolder folder;
    return RestoreIn(Write(folder), folder);
  }

  std::shared_ptr<Database> Write(const TemporaryFolder& folder) const {
    std::shared_ptr<Database> database = ValueOf(Database::Open(folder.File("db"), /*create=*/true, nullptr));
    rocksdb::WriteBatch batch;
    for (const auto& [at, value] : Records()) {
      REQUIRE(batch.Put(database->family(at.first), at.second, value).ok());
    }
    REQUIRE_OK(database->Write(&batch, /*sync=*/false));
    return database;
  }

  static absl::Status RestoreIn(const std::shared_ptr<Database>& database, const TemporaryFolder& folder) {
    absl::StatusOr<SavedState> state = LoadSavedState(database.get());
    if (!state.ok()) {
      return state.status();
    }
    testing::DurableReplay replay;
    replay.database = database;
    replay.journal = std::make_unique<Journal>(database, *state, JournalOptions());
    replay.tiers = std::make_unique<ChunkTiers>(std::make_shared<DiskRows>(database, folder.File("cold")));
    replay.store = std::make_unique<ReplayStore>(ReplayStoreOptions(), replay.journal.get(), replay.tiers.get());
    return replay.store->Restore(std::move(state->tables), std::move(state->writers));
  }

  std::map<std::pair<Family, std::string>, std::string> Records() const {
    v1::StoredFormat format;
    format.set_version(kStorageFormat);
    v1::StoredTable table;
    *table.mutable_created() = ToProto(created);
    *table.mutable_config() = ToProto(config);
    v1::StoredWriter described = writer;
    for (const ArraySpec& column : created.signature) {
      *described.add_signature() = ToProto(column);
      described.add_codecs(created.compression.empty() ? v1::ColumnCompression::CODEC_UNSPECIFIED
                                                       : v1::ColumnCompression::CODEC_ZSTD);
    }
    v1::StoredMark mark;
    mark.set_sequence(1);
    std::map<std::pair<Family, std::string>, std::string> records = {
        {{Family::kMeta, kFormatKey}, format.SerializeAsString()},
        {{Family::kMeta, TableKey(1)}, table.SerializeAsString()},
        {{Family::kMeta, CountersKey(1)}, counters.SerializeAsString()},
        {{Family::kItems, ItemKey(1, 0)}, item.Record()},
        {{Family::kBlocks, BlockKey(1)}, block.Record()},
        {{Family::kWriters, WriterKey(2)}, described.SerializeAsString()},
        {{Family::kWriters, ProgressKey(2)}, progress.SerializeAsString()},
        {{Family::kWriters, MarkKey(2, 1)}, mark.SerializeAsString()},
        {{Family::kWriters, StreamKey(2, 0)}, stream.SerializeAsString()}};
    for (const auto& [at, value] : more) {
      records[at] = value;
    }
    return records;
  }
};

// With both columns compressed.
Saved Compressed() {
  Saved saved;
  saved.created.compression = {{"observation", Codec::kZstd}, {"reward", Codec::kZstd}};
  saved.config = saved.created;
  saved.block = {{2}, {16, 8}, 2, std::string(24, '\0')};  // As many bytes as the rows have: stored as they are.
  return saved;
}

TEST_CASE("records that agree are restored", "[unit]") {
  REQUIRE_OK(Saved().Restore());
  REQUIRE_OK(Compressed().Restore());
}

// A way to spoil records that agree.
struct Damage {
  const char* name;
  std::function<void(Saved*)> spoil;
};

void CheckDamages(const Saved& sound, const std::vector<Damage>& damages) {
  for (const Damage& damage : damages) {
    INFO(damage.name);
    Saved saved = sound;
    damage.spoil(&saved);
    CHECK(absl::IsDataLoss(saved.Restore()));
  }
}

TEST_CASE("a block whose rows cannot have its bytes is damage", "[unit]") {
  CheckDamages(Saved(), {{"its rows have 2^64 bytes",
                          [](Saved* s) {
                            s->created.signature = {{"observation", DType::kFloat32, {int64_t{1} << 31}}};
                            s->created.view.resize(1);
                            s->config = s->created;
                            s->block = {{1U << 31}};
                            s->stream.set_next(1U << 31);
                          }},
                         {"one of its chunks has no rows",
                          [](Saved* s) {
                            s->block.rows = {2, 0};
                          }},
                         {"a head announces more than its rows have, and takes no memory for them", [](Saved* s) {
                            const uint64_t block = kTieredBlock | 3;
                            s->item.chunks = {{block, 0}};
                            s->more[{Family::kBlocks, HeadKey(block)}] = Block{{1U << 30}}.Record();
                            s->more[{Family::kBlocks, RowsKey(block)}] = WithChecksum(std::string(24, '\0'));
                          }}});
  CheckDamages(Compressed(), {{"a piece is longer than its rows",
                               [](Saved* s) {
                                 s->block = {{2}, {17, 8}, 2, std::string(25, '\0')};
                               }},
                              {"a piece of rows with bytes has none",
                               [](Saved* s) {
                                 s->block = {{2}, {16, 0}, 2, std::string(16, '\0')};
                               }},
                              {"its pieces have more rows than fit into memory", [](Saved* s) {
                                 s->block = {{UINT32_MAX}, {16, 8}, 2, std::string(24, '\0')};
                                 s->stream.set_next(UINT32_MAX);
                               }}});
}

// Adds table 3, "other".
void AddOther(const TableConfig& config, const v1::StoredCounters& counters, Saved* saved) {
  v1::StoredTable other;
  *other.mutable_created() = ToProto(config);
  *other.mutable_config() = ToProto(config);
  saved->more[{Family::kMeta, TableKey(3)}] = other.SerializeAsString();
  saved->more[{Family::kMeta, CountersKey(3)}] = counters.SerializeAsString();
}

TEST_CASE("rows of one table cannot be another one's, with other columns or with the same pins", "[unit]") {
  TableConfig config = DurableTable("other", Durability::kLog);
  for (const bool same_columns : {false, true}) {
    CAPTURE(same_columns);
    config.signature.front().shape =
        same_columns ? Saved().created.signature.front().shape : std::vector<int64_t>{1000};
    Saved saved;
    AddOther(config, saved.counters, &saved);
    saved.more[{Family::kItems, ItemKey(3, 0)}] = Item().Record();
    CHECK(absl::IsDataLoss(saved.Restore()));
  }
}

TEST_CASE("rows whose items hold them in another order than their writer's tables are damage", "[unit]") {
  for (const bool in_order : {true, false}) {
    CAPTURE(in_order);
    Saved saved;
    v1::StoredCounters none;
    none.set_next_generation(1);
    AddOther(DurableTable("other", Durability::kLog), none, &saved);
    saved.block.holders = 3;
    saved.writer.clear_tables();
    saved.writer.add_tables(in_order ? "t" : "other");
    saved.writer.add_tables(in_order ? "other" : "t");
    CHECK(saved.Restore().code() == (in_order ? absl::StatusCode::kOk : absl::StatusCode::kDataLoss));
  }
}

TEST_CASE("records of a kind that their place does not have are damage", "[unit]") {
  CheckDamages(Saved(), {{"an item among the tables",
                          [](Saved* s) {
                            s->more[{Family::kMeta, ItemKey(1, 0)}] = s->Records()[{Family::kMeta, TableKey(1)}];
                          }},
                         {"a table among the items",
                          [](Saved* s) {
                            s->more[{Family::kItems, TableKey(1)}] = Item().Record();
                          }},
                         {"a block among the writers",
                          [](Saved* s) {
                            s->more[{Family::kWriters, BlockKey(2)}] = s->stream.SerializeAsString();
                          }},
                         {"a block in one record, with the number of one in two",
                          [](Saved* s) {
                            s->item.chunks = {{kTieredBlock | 3, 0}};
                            s->more[{Family::kBlocks, BlockKey(kTieredBlock | 3)}] = s->block.Record();
                          }},
                         {"a block in two records, with the number of one in one", [](Saved* s) {
                            s->item.chunks = {{3, 0}};
                            s->more[{Family::kBlocks, HeadKey(3)}] = Block{{2}}.Record();
                            s->more[{Family::kBlocks, RowsKey(3)}] = WithChecksum(std::string(24, '\0'));
                          }}});
}

TEST_CASE("numbers that no server has given are damage", "[unit]") {
  const auto table = [](uint64_t number) {
    return [number](Saved* s) {
      s->more[{Family::kMeta, TableKey(number)}] = s->Records()[{Family::kMeta, TableKey(1)}];
    };
  };
  const auto writer = [](uint64_t number) {
    return [number](Saved* s) {
      s->more[{Family::kWriters, WriterKey(number)}] = s->Records()[{Family::kWriters, WriterKey(2)}];
    };
  };
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  CheckDamages(Saved(), {{"table 0", table(0)},
                         {"the last table", table(kHuge)},
                         {"writer 0", writer(0)},
                         {"the last writer", writer(kHuge)},
                         {"a block without references",
                          [](Saved* s) {
                            s->more[{Family::kBlocks, BlockKey(kTieredBlock - 1)}] = s->block.Record();
                          }},
                         {"a writer's last block", [](Saved* s) { s->progress.set_sequence(kHuge); }},
                         {"an item's generation", [](Saved* s) { s->item.generation = kHuge; }},
                         {"the next generation", [](Saved* s) { s->counters.set_next_generation(kHuge - 5); }},
                         {"the next generation, too far from an item's",
                          [](Saved* s) { s->counters.set_next_generation(uint64_t{1} << 60); }},
                         {"the items inserted", [](Saved* s) { s->counters.set_inserted(kMost); }},
                         {"the items sampled", [](Saved* s) { s->counters.set_sampled(-1); }},
                         {"the items removed", [](Saved* s) { s->counters.set_removed(-kMost - 1); }},
                         {"a slot that its table never had",
                          [](Saved* s) {
                            s->more[{Family::kItems, ItemKey(1, 4'000'000'000)}] = Item{2}.Record();
                          }},
                         {"more rows of a stream than can be counted", [](Saved* s) {
                            s->stream.set_first(kHuge - 1);
                            s->stream.set_next(0);
                            s->stream.set_part_first_row(0, kHuge - 1);
                          }}});
}

TEST_CASE("items and tables that cannot be are damage", "[unit]") {
  CheckDamages(Saved(), {{"an item in a chunk that its block lacks",
                          [](Saved* s) {
                            s->item.chunks = {{1, 1}};
                          }},
                         {"an item in a missing block",
                          [](Saved* s) {
                            s->item.chunks = {{9, 0}};
                          }},
                         {"an item that counts with the pins of a writer", [](Saved* s) { s->item.pins = 1; }},
                         {"an item that was sampled as often as it may be",
                          [](Saved* s) { s->config.max_times_sampled = s->item.times_sampled = 2; }},
                         {"an item with more context than the table's views", [](Saved* s) { s->item.context = 1; }},
                         {"a table with changed columns", [](Saved* s) { s->config.signature.front().shape = {1000}; }},
                         {"a table without durability",
                          [](Saved* s) { s->created.durability = s->config.durability = Durability::kNone; }}});
  Saved future;
  future.created.view.push_back({"goal", "reward", ViewField::Rows::kFuture});
  future.created.max_window = 2;
  future.created.transition_rows = 2;
  future.config = future.created;
  future.item.rows = 2;
  REQUIRE_OK(future.Restore());
  CheckDamages(future, {{"an item without a future row", [](Saved* s) { s->item.rows = 1; }}});
}

TEST_CASE("the older of two records of one writer, which a crash may leave, is deleted", "[unit]") {
  Saved saved;
  saved.more[{Family::kWriters, WriterKey(3)}] = saved.Records()[{Family::kWriters, WriterKey(2)}];
  const TemporaryFolder folder;
  const std::shared_ptr<Database> database = saved.Write(folder);
  REQUIRE_OK(Saved::RestoreIn(database, folder));
  const SavedState state = ValueOf(LoadSavedState(database.get()));
  REQUIRE(state.writers.size() == 1);
  CHECK(state.writers.front().number == 3);
}

}  // namespace
}  // namespace waggle
