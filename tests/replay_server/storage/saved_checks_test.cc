// Records that are whole by themselves and contradict themselves or each other: none of them may come back as a table
// whose rows lie elsewhere, or that counts what it does not have.
#include "replay_server/storage/saved_checks.h"

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

// A table, number 1, with one item; its writer, number 2, holds both rows of block 1.
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

  // Of loading it, and of making tables of it.
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

void CheckRefused(const Saved& saved) {
  const absl::Status status = saved.Restore();
  INFO(status.ToString());
  CHECK(absl::IsDataLoss(status));
}

// Both columns are.
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

TEST_CASE("a block whose rows cannot have the bytes that it has is damage", "[unit]") {
  SECTION("its rows have 2^64 bytes") {
    Saved saved;
    saved.created.signature = {{"observation", DType::kFloat32, {int64_t{1} << 31}}};
    saved.created.view.resize(1);
    saved.config = saved.created;
    saved.block = {{1U << 31}};
    saved.stream.set_next(1U << 31);
    CheckRefused(saved);
  }
  SECTION("one of its chunks has no rows") {
    Saved saved;
    saved.block.rows = {2, 0};
    CheckRefused(saved);
  }
  SECTION("a piece is longer than the rows that it holds") {
    Saved saved = Compressed();
    saved.block = {{2}, {17, 8}, 2, std::string(25, '\0')};
    CheckRefused(saved);
  }
  SECTION("a piece of rows with bytes has none") {
    Saved saved = Compressed();
    saved.block = {{2}, {16, 0}, 2, std::string(16, '\0')};
    CheckRefused(saved);
  }
  SECTION("its pieces hold more rows than fit into memory") {
    Saved saved = Compressed();
    saved.block = {{UINT32_MAX}, {16, 8}, 2, std::string(24, '\0')};
    saved.stream.set_next(UINT32_MAX);
    CheckRefused(saved);
  }
}

TEST_CASE("a head that says more than its rows have takes no memory for them", "[unit]") {
  Saved saved;
  const uint64_t block = kTieredBlock | 3;
  Block large{{1U << 30}};
  saved.item.chunks = {{block, 0}};
  saved.more[{Family::kBlocks, HeadKey(block)}] = large.Record();
  saved.more[{Family::kBlocks, RowsKey(block)}] = WithChecksum(std::string(24, '\0'));
  CheckRefused(saved);
}

TEST_CASE("rows that are one table's cannot be another one's, with other columns or counted with the same pins",
          "[unit]") {
  Saved saved;
  v1::StoredTable other;
  TableConfig config = DurableTable("other", Durability::kLog);
  SECTION("other columns") {
    config.signature.front().shape = {1000};
  }
  SECTION("the same pins"){} * other.mutable_created() = ToProto(config);
  *other.mutable_config() = ToProto(config);
  saved.more[{Family::kMeta, TableKey(3)}] = other.SerializeAsString();
  saved.more[{Family::kMeta, CountersKey(3)}] = saved.counters.SerializeAsString();
  saved.more[{Family::kItems, ItemKey(3, 0)}] = Item().Record();
  CheckRefused(saved);
}

TEST_CASE("rows that items hold in another order than their writer's tables is damage", "[unit]") {
  Saved saved;
  v1::StoredTable other;
  *other.mutable_created() = ToProto(DurableTable("other", Durability::kLog));
  *other.mutable_config() = other.created();
  saved.more[{Family::kMeta, TableKey(3)}] = other.SerializeAsString();
  v1::StoredCounters none;
  none.set_next_generation(1);
  saved.more[{Family::kMeta, CountersKey(3)}] = none.SerializeAsString();
  saved.block.holders = 3;
  saved.writer.clear_tables();
  SECTION("in its tables' order") {
    saved.writer.add_tables("t");
    saved.writer.add_tables("other");
    REQUIRE_OK(saved.Restore());
  }
  SECTION("in another one") {
    saved.writer.add_tables("other");
    saved.writer.add_tables("t");
    CheckRefused(saved);
  }
}

TEST_CASE("an item that counts with the pins of a writer is damage", "[unit]") {
  Saved saved;
  saved.item.pins = 1;
  CheckRefused(saved);
}

TEST_CASE("records of a kind that their place does not have are damage", "[unit]") {
  Saved saved;
  SECTION("an item among the tables") {
    saved.more[{Family::kMeta, ItemKey(1, 0)}] = saved.Records()[{Family::kMeta, TableKey(1)}];
  }
  SECTION("a table among the items") {
    saved.more[{Family::kItems, TableKey(1)}] = Item().Record();
  }
  SECTION("a block among the writers") {
    saved.more[{Family::kWriters, BlockKey(2)}] = saved.stream.SerializeAsString();
  }
  SECTION("a block in one record, with the number of one in two") {
    saved.item.chunks = {{kTieredBlock | 3, 0}};
    saved.more[{Family::kBlocks, BlockKey(kTieredBlock | 3)}] = saved.block.Record();
  }
  SECTION("a block in two records, with the number of one in one") {
    saved.item.chunks = {{3, 0}};
    saved.more[{Family::kBlocks, HeadKey(3)}] = Block{{2}}.Record();
    saved.more[{Family::kBlocks, RowsKey(3)}] = WithChecksum(std::string(24, '\0'));
  }
  CheckRefused(saved);
}

TEST_CASE("numbers that no server has given are damage", "[unit]") {
  Saved saved;
  SECTION("of a table") {
    const uint64_t number = GENERATE(uint64_t{0}, kHuge);
    saved.more[{Family::kMeta, TableKey(number)}] = saved.Records()[{Family::kMeta, TableKey(1)}];
  }
  SECTION("of a writer") {
    const uint64_t number = GENERATE(uint64_t{0}, kHuge);
    saved.more[{Family::kWriters, WriterKey(number)}] = saved.Records()[{Family::kWriters, WriterKey(2)}];
  }
  SECTION("of a block that nothing refers to") {
    saved.more[{Family::kBlocks, BlockKey(kTieredBlock - 1)}] = saved.block.Record();
  }
  SECTION("of a writer's last block") {
    saved.progress.set_sequence(kHuge);
  }
  SECTION("of an item's generation") {
    saved.item.generation = kHuge;
  }
  SECTION("of the next generation") {
    saved.counters.set_next_generation(kHuge - 5);
  }
  SECTION("of the next generation, too far from an item's") {
    saved.counters.set_next_generation(uint64_t{1} << 60);
  }
  SECTION("of the items inserted") {
    saved.counters.set_inserted(std::numeric_limits<int64_t>::max());
  }
  SECTION("of the items sampled") {
    saved.counters.set_sampled(-1);
  }
  SECTION("of the items removed") {
    saved.counters.set_removed(std::numeric_limits<int64_t>::min());
  }
  CheckRefused(saved);
}

TEST_CASE("an item in a slot that its table never came to is damage", "[unit]") {
  Saved saved;
  saved.more[{Family::kItems, ItemKey(1, 4'000'000'000)}] = Item{2}.Record();
  CheckRefused(saved);
}

TEST_CASE("an item that cannot be in its table is damage", "[unit]") {
  Saved saved;
  SECTION("it was sampled as often as it may be") {
    saved.config.max_times_sampled = 2;
    saved.item.times_sampled = 2;
  }
  SECTION("it has more context than the table's views") {
    saved.item.context = 1;
  }
  SECTION("it has no row that could be the future one") {
    saved.created.view.push_back({"goal", "reward", ViewField::Rows::kFuture});
    saved.created.max_window = 2;
    saved.created.transition_rows = 2;
    saved.config = saved.created;
    saved.item.rows = 2;
    REQUIRE_OK(saved.Restore());
    saved.item.rows = 1;
  }
  CheckRefused(saved);
}

TEST_CASE("a stream of more rows than can be counted is damage", "[unit]") {
  Saved saved;
  saved.stream.set_first(kHuge - 1);
  saved.stream.set_next(0);
  saved.stream.set_part_first_row(0, kHuge - 1);
  CheckRefused(saved);
}

TEST_CASE("a table that has become what it cannot is damage", "[unit]") {
  Saved saved;
  SECTION("its columns") {
    saved.config.signature.front().shape = {1000};
  }
  SECTION("nobody keeps it") {
    saved.created.durability = saved.config.durability = Durability::kNone;
  }
  CheckRefused(saved);
}

TEST_CASE("of two records of one writer, which a crash may leave, the older one goes", "[unit]") {
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
