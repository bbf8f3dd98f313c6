#include "replay_server/batches/pinned_rows.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "common/config/table/batch_layout.h"
#include "common/replay/blocks/block_compression.h"
#include "replay_server/batches/gather.h"
#include "replay_server/store/replay_store.h"
#include "replay_server/store/table_exporter.h"
#include "tests/replay_server/rows/fake_cold_rows.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::Eventually;
using testing::HasBytes;
using testing::kTieredBlockBytes;
using testing::TieredBlock;
using testing::ValueOf;

SampledItem Item(std::vector<ChunkRef> chunks) {
  SampledItem item;
  item.window.chunks.assign(chunks.begin(), chunks.end());
  return item;
}

// A table whose draws follow from its seed, with a limit or without one (0).
TableConfig StackTable(int64_t memory_limit) {
  TableConfig config;
  config.name = "t";
  config.signature = {{"frame", DType::kUint8, {100}}, {"plain", DType::kInt64, {3}}, {"reward", DType::kFloat32, {}}};
  config.view = {{"stack", "frame", ViewField::Rows::kAll, 4},
                 {"first", "plain", ViewField::Rows::kFirst, 3},
                 {"last", "plain", ViewField::Rows::kLast},
                 {"rewards", "reward", ViewField::Rows::kAll}};
  config.compression = {{"frame", Codec::kLz4}};
  config.sampler.kind = SelectorKind::kPrioritized;
  config.sampler.priority_exponent = 1;
  config.max_items = 400;
  config.max_bytes = int64_t{1} << 30;
  config.max_window = 5;
  config.seed = 7;
  config.memory_limit = memory_limit;
  return config;
}

struct Bed {
  explicit Bed(const TableConfig& config) {
    REQUIRE_OK(store.CreateTable(config).status());
    table = ValueOf(store.FindTable("t"));
  }

  // 60 blocks of two streams, with windows that reach back over blocks.
  void Write() {
    const auto writer = ValueOf(store.OpenWriter("w", {"t"}, table->created().signature));
    Rng rng = Rng::Split(5, "rows", 0);
    const std::vector<Codec> codecs = ColumnCodecs(table->created().signature, table->created().compression);
    uint64_t rows[2] = {0, 0};
    for (uint64_t sequence = 1; sequence <= 60; ++sequence) {
      InsertBlock block;
      auto bytes = std::make_shared<std::string>();
      uint32_t total = 0;
      for (uint32_t stream = 0; stream < 2; ++stream) {
        const auto count = static_cast<uint32_t>(1 + rng.UniformInt(6));
        block.chunks.push_back({stream, rows[stream], count});
        total += count;
        for (uint32_t row = 0; row < count; ++row) {
          const uint64_t end = rows[stream] + row + 1;
          const auto window = static_cast<uint32_t>(1 + rng.UniformInt(std::min<uint64_t>(end, 5)));
          const auto context = static_cast<uint32_t>(std::min<uint64_t>(end - window, 3));
          block.items.push_back(
              {0, stream, end - window, window, 1.0 + static_cast<double>(rng.UniformInt(9)), context});
        }
        rows[stream] += count;
      }
      for (uint32_t i = 0; i < total * 124; ++i) {
        bytes->push_back(static_cast<char>(rng.UniformInt(4)));
      }
      for (uint32_t i = 0; i < total; ++i) {
        bytes->append("\0\0\x80?", 4);  // 1.0
      }
      block.data = ByteSlices({bytes->data(), bytes->size(), bytes});
      REQUIRE_OK(CompressBlock(table->created().signature, codecs, &block));
      absl::Status inserted;
      bool called = false;
      writer->Insert(sequence, std::move(block), [&](const auto& result) {
        inserted = result.status();
        called = true;
      });
      if (table->tier() == nullptr) {
        REQUIRE(called);
      }
      Eventually("the answer", [&] { return writer->applied_sequence() == sequence; });
      REQUIRE_OK(inserted);
    }
  }

  std::string SampleBytes(int64_t items) {
    const auto layout = std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(table->created(), items, 1 << 24)));
    std::string bytes;
    table->Sample(layout, items, [&](const absl::StatusOr<SampledBatch>& batch) {
      REQUIRE_OK(batch.status());
      for (const BatchField& field : layout->fields) {
        if (field.spec.name != "item/generation") {  // Differs in every table.
          bytes.append(batch->bytes.get() + field.offset, static_cast<size_t>(field.spec.NumBytes()));
        }
      }
    });
    return bytes;
  }

  std::string ExportBytes() {
    TableExporter exporter(table);
    exporter.Prepare();
    std::string bytes;
    for (;;) {
      const auto block = ValueOf(exporter.Next());
      if (!block.has_value()) {
        return bytes;
      }
      std::string rows(block->data.size(), '\0');
      block->data.CopyTo(rows.data());
      bytes += rows;
    }
  }

  std::string ColumnBytes(uint64_t key) {
    const auto item = table->Hold(key);
    REQUIRE(item.has_value());
    std::string bytes;
    PinnedRows pinned;
    REQUIRE_OK(pinned.Pin(item->window));
    for (size_t i = 0; i < table->rows().signature.size(); ++i) {
      REQUIRE_OK(VisitColumn(table->rows(), i, item->window,
                             [&](absl::string_view run) { bytes.append(run.data(), run.size()); }));
    }
    return bytes;
  }

  std::shared_ptr<testing::FakeColdRows> disk = std::make_shared<testing::FakeColdRows>();
  ChunkTiers tiers{disk};
  ReplayStore store{ReplayStoreOptions{}, nullptr, &tiers};
  std::shared_ptr<Table> table;
};

}  // namespace

TEST_CASE("a table with a memory limit gives the same rows as one without", "[unit]") {
  Bed limited(StackTable(/*memory_limit=*/GENERATE(1, 3000, 1 << 20)));
  Bed whole(StackTable(0));
  limited.Write();
  whole.Write();
  REQUIRE(limited.table->info().items == whole.table->info().items);
  for (const int64_t items : {1, 7, 200}) {
    const std::string bytes = limited.SampleBytes(items);
    REQUIRE(!bytes.empty());
    REQUIRE((bytes == whole.SampleBytes(items)));
  }
  REQUIRE((limited.ExportBytes() == whole.ExportBytes()));
  for (uint64_t key = 0; key < 20; ++key) {
    REQUIRE((limited.ColumnBytes(key) == whole.ColumnBytes(key)));
  }
  // Rows on disk count too.
  const Table::Info info = limited.table->info();
  CHECK(info.bytes > whole.table->info().bytes / 2);
  if (info.config->memory_limit <= 3000) {
    Eventually("rows leave", [&] { return limited.table->tier()->info().memory_bytes <= info.config->memory_limit; });
    CHECK(info.tier.disk_bytes > 0);
    CHECK(info.tier.reads > 0);
  }
}

TEST_CASE("as many items are pinned together as fit into the margin, and at least one", "[unit]") {
  ChunkTiers tiers(std::make_shared<testing::FakeColdRows>());
  const auto tier = tiers.New("t", 16 * kTieredBlockBytes);  // A margin of two blocks.
  std::vector<ChunkRef> blocks;
  for (int i = 0; i < 6; ++i) {
    blocks.push_back(TieredBlock(tier, static_cast<char>(i)));
  }
  const ChunkRef in_memory = TieredBlock(nullptr, 'm');
  PinnedRows pinned;
  CHECK(ValueOf(pinned.Pin({Item({blocks[0]}), Item({blocks[1]}), Item({blocks[2]})})) == 2);
  CHECK(ValueOf(pinned.Pin({Item({blocks[0], blocks[1], blocks[2]}), Item({blocks[3]})})) == 1);
  CHECK(ValueOf(pinned.Pin({Item({blocks[0], blocks[0]}), Item({blocks[0]}), Item({in_memory}), Item({blocks[1]}),
                            Item({blocks[2]})})) == 4);
  CHECK(ValueOf(pinned.Pin({Item({in_memory}), Item({in_memory})})) == 2);
}

TEST_CASE("readers that pin rows of several tiers in different orders do not block each other", "[unit]") {
  ChunkTiers tiers(std::make_shared<testing::FakeColdRows>());
  const auto one = tiers.New("one", 1);
  const auto two = tiers.New("two", 1);
  const ChunkRef a = TieredBlock(one, 'a');
  const ChunkRef b = TieredBlock(two, 'b');
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 4; ++reader) {
    readers.emplace_back([&, reader] {
      for (int round = 0; round < 500; ++round) {
        const SampledItem item = reader % 2 == 0 ? Item({a, b}) : Item({b, a});
        PinnedRows pinned;
        wrong += pinned.Pin({item}).ok() && HasBytes(*a, 'a') && HasBytes(*b, 'b') ? 0 : 1;
      }
    });
  }
  for (std::thread& reader : readers) {
    reader.join();
  }
  CHECK(wrong == 0);
}

}  // namespace waggle
