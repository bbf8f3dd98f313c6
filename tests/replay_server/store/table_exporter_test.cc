#include "replay_server/store/table_exporter.h"

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/replay/blocks/block_compression.h"
#include "replay_server/writers/writer_session.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// Tables of both sides: items are sampled in the order in which they came.
TableConfig Config(bool compressed) {
  TableConfig config = testing::SmallTable();
  config.sampler = SamplerConfig();
  config.sampler.kind = SelectorKind::kFifo;
  config.sampler.without_replacement = true;
  config.view.push_back({"stack", "id", ViewField::Rows::kLast, 3});
  config.max_items = 5000;
  if (compressed) {
    config.compression = {{"id", Codec::kLz4}};
  }
  return config;
}

// A table, and a writer to it.
struct Side {
  explicit Side(const TableConfig& config)
      : table(testing::ValueOf(Table::Create(config, 1))),
        session(std::make_shared<WriterSession>(std::vector<std::shared_ptr<Table>>{table}, config.signature,
                                                WriterSessionOptions())) {}
  ~Side() { table->Close(); }

  WriterSession::Result Insert(InsertBlock block) {
    const TableConfig& config = table->created();
    REQUIRE_OK(CompressBlock(config.signature, ColumnCodecs(config.signature, config.compression), &block));
    absl::StatusOr<WriterSession::Result> answer = absl::UnknownError("no answer came");
    session->Insert(++sequence, std::move(block), [&answer](auto result) { answer = std::move(result); });
    return testing::ValueOf(answer);
  }

  SampledBatch Sample(int64_t count) {
    const auto layout =
        std::make_shared<const BatchLayout>(testing::ValueOf(MakeBatchLayout(table->created(), count, 1 << 24)));
    absl::StatusOr<SampledBatch> batch = absl::UnknownError("no batch came");
    table->Sample(layout, count, [&batch](auto result) { batch = std::move(result); });
    return testing::ValueOf(batch);
  }

  std::shared_ptr<Table> table;
  std::shared_ptr<WriterSession> session;
  uint64_t sequence = 0;
};

InsertBlock RowsOf(std::vector<ChunkInfo> chunks) {
  InsertBlock block;
  std::vector<int64_t> ids;
  for (const ChunkInfo& chunk : chunks) {
    for (uint64_t row = 0; row < chunk.rows; ++row) {
      ids.push_back(static_cast<int64_t>(chunk.stream * 1000 + chunk.first_row + row));
    }
  }
  const std::shared_ptr<char> bytes = AllocateBytes(ids.size() * 16);
  std::memcpy(bytes.get(), ids.data(), ids.size() * 8);
  for (size_t i = 0; i < ids.size(); ++i) {
    const float pair[] = {static_cast<float>(ids[i]), 0.5F};
    std::memcpy(bytes.get() + ids.size() * 8 + i * 8, pair, 8);
  }
  block.data.Append({bytes.get(), ids.size() * 16, bytes});
  block.chunks = std::move(chunks);
  return block;
}

// Random windows of three streams that grow chunk by chunk, some far behind the newest rows, some items deleted.
void Fill(Side* side, Rng* rng) {
  uint64_t next[3] = {};
  for (int i = 0; i < 150; ++i) {
    std::vector<ChunkInfo> chunks;
    for (uint32_t stream = 0; stream < 3; ++stream) {
      const auto rows = static_cast<uint32_t>(1 + rng->UniformInt(4));
      chunks.push_back({stream, next[stream], rows, rng->UniformInt(10) == 0});
      next[stream] += rows;
    }
    InsertBlock block = RowsOf(chunks);
    block.policy_version = static_cast<uint64_t>(i / 20);
    for (uint64_t items = rng->UniformInt(12); items > 0; --items) {
      const auto stream = static_cast<uint32_t>(rng->UniformInt(3));
      const uint64_t rows = 1 + rng->UniformInt(std::min<uint64_t>(4, next[stream]));
      const uint64_t back = rows + rng->UniformInt(std::min<uint64_t>(3, next[stream] - rows + 1));
      const uint64_t first = next[stream] - back;
      const uint64_t context = rng->UniformInt(std::min<uint64_t>(2, first) + 1);
      block.items.push_back(
          {0, stream, first, static_cast<uint32_t>(rows), rng->Uniform(), static_cast<uint32_t>(context)});
    }
    side->Insert(std::move(block));
  }
  std::vector<Table::ItemAddress> items;
  side->table->ListItems(0, 100'000, &items);
  for (const Table::ItemAddress& item : items) {
    if (rng->UniformInt(10) == 0) {
      REQUIRE(side->table->Delete({item.slot}, {item.generation}).applied == 1);
    }
  }
}

void CheckSame(Side* from, Side* to) {
  const int64_t items = from->table->info().items;
  REQUIRE(to->table->info().items == items);
  const SampledBatch a = from->Sample(items);
  const SampledBatch b = to->Sample(items);
  for (const BatchField& field : a.layout->fields) {
    const std::string& name = field.spec.name;
    if (name == kItemKey || name == kItemGeneration) {
      continue;
    }
    CAPTURE(name);
    REQUIRE(std::memcmp(a.Data(name), b.Data(name), static_cast<size_t>(field.spec.NumBytes())) == 0);
  }
}

}  // namespace

TEST_CASE("a table that is filled from another one's blocks holds the same items", "[unit]") {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Rng rng(seed);
    Side from(Config(seed % 2 == 0));
    Fill(&from, &rng);
    TableExporterOptions options;
    options.max_block_bytes = 300;
    options.max_streams = seed < 3 ? 2 : 4096;
    options.max_known_chunks = seed < 5 ? 40 : 65536;
    TableExporter exporter(from.table, options);
    exporter.Prepare();
    REQUIRE(exporter.items() == from.table->info().items);
    Side to(Config(false));
    int64_t items = 0;
    for (;;) {
      std::optional<InsertBlock> block = testing::ValueOf(exporter.Next());
      if (!block.has_value()) {
        break;
      }
      items += static_cast<int64_t>(block->items.size());
      REQUIRE(to.Insert(*std::move(block)).items_without_rows == 0);
    }
    CAPTURE(seed);
    REQUIRE(items == exporter.items());
    CheckSame(&from, &to);
  }
}

TEST_CASE("rows that windows share are exported once", "[unit]") {
  Side from(Config(false));
  InsertBlock block = RowsOf({{0, 0, 100}});
  for (uint64_t first = 0; first + 4 <= 100; ++first) {
    block.items.push_back({0, 0, first, 4, 1.0});
  }
  from.Insert(block);
  TableExporter exporter(from.table);
  exporter.Prepare();
  const InsertBlock exported = *testing::ValueOf(exporter.Next());
  REQUIRE(exported.items.size() == 97);
  REQUIRE(exported.chunks.size() == 1);
  REQUIRE(exported.data.size() == 100 * testing::kSmallRowBytes);
  REQUIRE_FALSE(testing::ValueOf(exporter.Next()).has_value());
}

TEST_CASE("items that leave before their turn are left out", "[unit]") {
  Side from(Config(false));
  InsertBlock block = RowsOf({{0, 0, 3}});
  block.items = {{0, 0, 0, 1, 1.0}, {0, 0, 1, 1, 2.0}, {0, 0, 2, 1, 3.0}};
  from.Insert(block);
  TableExporter exporter(from.table);
  exporter.Prepare();
  std::vector<Table::ItemAddress> items;
  REQUIRE_FALSE(from.table->ListItems(0, 10, &items));
  from.table->Delete({items[1].slot}, {items[1].generation});
  const InsertBlock exported = *testing::ValueOf(exporter.Next());
  REQUIRE(exported.items.size() == 2);
  REQUIRE(exported.items[1].priority == 3);
}

TEST_CASE("an empty table is exported as nothing", "[unit]") {
  Side from(Config(false));
  TableExporter exporter(from.table);
  exporter.Prepare();
  REQUIRE(exporter.items() == 0);
  REQUIRE_FALSE(testing::ValueOf(exporter.Next()).has_value());
}

}  // namespace waggle
