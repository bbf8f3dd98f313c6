#include "replay_server/store/table_exporter.h"

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/replay/blocks/block_compression.h"
#include "tests/replay_server/writers/writer_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/id_rows.h"

namespace waggle {
namespace {

// Samples items in the order of insertion.
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
struct Side : testing::writers::Fixture {
  explicit Side(const TableConfig& config) : Fixture(config) {}

  WriterSession::Result Insert(InsertBlock block) {
    const TableConfig& config = table->created();
    REQUIRE_OK(CompressBlock(config.signature, ColumnCodecs(config.signature, config.compression), &block));
    return testing::ValueOf(Fixture::Insert(session->applied_sequence() + 1, std::move(block)));
  }
};

InsertBlock RowsOf(const std::vector<ChunkInfo>& chunks) {
  InsertBlock block;
  block.data = testing::IdRows(chunks);
  block.chunks = chunks;
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

TEST_CASE("a table that is filled by an export has the same items", "[unit]") {
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

TEST_CASE("rows that windows share are exported once, and nothing follows the last block", "[unit]") {
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

TEST_CASE("items that leave during an export are not exported", "[unit]") {
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

}  // namespace waggle
