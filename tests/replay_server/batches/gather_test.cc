#include "replay_server/batches/gather.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// A random table of all kinds of columns, and a stream of it cut into chunks.
struct RandomStream {
  TableConfig config;
  std::vector<ChunkRef> chunks;
  std::vector<uint32_t> chunk_rows;
  std::vector<std::vector<std::string>> rows;  // By column, then row: its bytes.
};

// `large_rows` adds a column with large rows, and one whose stacks of rows are large.
RandomStream MakeRandomStream(Rng* rng, bool large_rows = false) {
  RandomStream stream;
  stream.config = testing::SmallTable();
  stream.config.max_window = 1 + static_cast<int64_t>(rng->UniformInt(9));
  stream.config.signature.clear();
  stream.config.view.clear();
  std::vector<ArraySpec> kinds = {{"a", DType::kFloat32, {}},     {"b", DType::kFloat32, {4}},
                                  {"c", DType::kUint8, {3, 5}},   {"d", DType::kInt64, {}},
                                  {"e", DType::kFloat64, {2, 0}}, {"f", DType::kFloat32, {3}},
                                  {"g", DType::kUint8, {100}},    {"h", DType::kInt64, {2}}};
  if (large_rows) {
    kinds.insert(kinds.begin() + 2, {"large", DType::kUint8, {9001}});
    kinds.push_back({"largish", DType::kUint8, {3001}});
  }
  for (const ArraySpec& column : kinds) {
    if (rng->UniformInt(2) == 0 || stream.config.signature.empty()) {
      stream.config.signature.push_back(column);
      for (const auto rows : {ViewField::Rows::kFirst, ViewField::Rows::kLast, ViewField::Rows::kAll}) {
        // Half of them stacked.
        const auto stack = static_cast<int64_t>(rng->UniformInt(2) == 0 ? 1 : 2 + rng->UniformInt(4));
        stream.config.view.push_back({column.name + std::to_string(static_cast<int>(rows)), column.name, rows, stack});
      }
    }
  }
  size_t total = 0;
  for (uint64_t i = 0; i < 20; ++i) {
    stream.chunk_rows.push_back(static_cast<uint32_t>(1 + rng->UniformInt(5)));
    total += stream.chunk_rows.back();
  }
  const auto layout = std::make_shared<const RowLayout>(stream.config.signature);
  NewBlock block = MakeChunks(layout, stream.chunk_rows, 1);
  stream.chunks = block.chunks;
  char* out = block.data;
  for (const ArraySpec& column : stream.config.signature) {
    stream.rows.emplace_back();
    for (size_t row = 0; row < total; ++row) {
      std::string bytes(static_cast<size_t>(column.NumBytes()), '\0');
      for (char& byte : bytes) {
        byte = static_cast<char>(rng->Next());
      }
      std::memcpy(out, bytes.data(), bytes.size());
      out += bytes.size();
      stream.rows.back().push_back(bytes);
    }
  }
  return stream;
}

// `context` rows before the window belong to it.
Window MakeWindow(const RandomStream& stream, size_t first_row, size_t rows, size_t context = 0) {
  Window window;
  window.context = static_cast<uint8_t>(context);
  first_row -= context;
  rows += context;
  size_t chunk = 0;
  while (first_row >= stream.chunk_rows[chunk]) {
    first_row -= stream.chunk_rows[chunk++];
  }
  window.offset = static_cast<uint32_t>(first_row);
  window.rows = static_cast<uint32_t>(rows - context);
  for (size_t held = 0; held < first_row + rows; held += stream.chunk_rows[chunk++]) {
    window.chunks.push_back(stream.chunks[chunk]);
  }
  return window;
}

struct Place {
  size_t first = 0;
  size_t rows = 0;
  size_t context = 0;
  int64_t future_offset = 0;
};

// The slow reference: the bytes of a field of one item, row by row.
std::string SlowField(const RandomStream& stream, const ViewField& field, size_t column, const Place& place) {
  const std::vector<std::string>& all = stream.rows[column];
  const auto stacked = [&](size_t row) {
    std::string bytes;
    for (int64_t back = field.stack - 1; back >= 0; --back) {
      const int64_t wanted = static_cast<int64_t>(row) - back;
      bytes += all[static_cast<size_t>(std::max(wanted, static_cast<int64_t>(place.first - place.context)))];
    }
    return bytes;
  };
  switch (field.rows) {
    case ViewField::Rows::kFirst:
      return stacked(place.first);
    case ViewField::Rows::kLast:
      return stacked(place.first + place.rows - 1);
    case ViewField::Rows::kFuture:
      return stacked(static_cast<size_t>(static_cast<int64_t>(place.first) + place.future_offset));
    case ViewField::Rows::kAll:
      break;
  }
  std::string bytes;
  for (size_t row = 0; row < static_cast<size_t>(stream.config.SampledRows()); ++row) {
    bytes += row < place.rows ? stacked(place.first + row) : std::string(stacked(place.first).size(), '\0');
  }
  return bytes;
}

// Checks that a batch in slices has the bytes of a copied one, and copies all but large rows.
void CheckSlices(const RandomStream& stream, const std::shared_ptr<Sampled>& sampled, const SampledBatch& batch) {
  const RowLayout rows(stream.config.signature);
  size_t copied = 0;
  const SlicedBatch slices =
      testing::ValueOf(GatherSlices(stream.config, rows, batch.layout, *sampled, sampled, [&copied](size_t bytes) {
        copied = bytes;
        const std::shared_ptr<char> memory = AllocateBytes(bytes);
        std::memset(memory.get(), 0x55, bytes);
        return memory;
      }));
  std::vector<char> joined(slices.data.size());
  REQUIRE(joined.size() == batch.layout->total_bytes);
  slices.data.CopyTo(joined.data());
  REQUIRE(std::memcmp(joined.data(), batch.bytes.get(), joined.size()) == 0);
  REQUIRE(HasLargeRows(stream.config, rows) == (copied < joined.size()));
}

}  // namespace

TEST_CASE("a gathered batch, copied or in slices, equals one that is put together row by row", "[unit]") {
  Rng rng(11);
  for (int round = 0; round < 60; ++round) {
    const RandomStream stream = MakeRandomStream(&rng, /*large_rows=*/round % 2 == 0);
    const auto count = static_cast<int64_t>(1 + rng.UniformInt(20));
    const auto layout =
        std::make_shared<const BatchLayout>(testing::ValueOf(MakeBatchLayout(stream.config, count, size_t{1} << 30)));
    REQUIRE_OK(CheckLayout(stream.config, *layout, count));
    const auto sampled = std::make_shared<Sampled>();
    std::vector<Place> places;
    for (int64_t i = 0; i < count; ++i) {
      const size_t rows = 1 + rng.UniformInt(static_cast<uint64_t>(stream.config.max_window));
      const size_t first = rng.UniformInt(stream.rows[0].size() - rows + 1);
      const auto context = rng.UniformInt(std::min<uint64_t>(first, 4) + 1);
      places.push_back({first, rows, context});
      sampled->items.emplace_back();
      sampled->items.back().window = MakeWindow(stream, first, rows, context);
      sampled->items.back().key = 7 * static_cast<uint64_t>(i);
    }
    const SampledBatch batch = testing::ValueOf(Gather(stream.config, RowLayout(stream.config.signature), layout,
                                                       *sampled, AllocateBytes(layout->total_bytes)));
    for (size_t f = 0; f < stream.config.view.size(); ++f) {
      const ViewField& field = stream.config.view[f];
      const size_t column = f / 3;
      std::string wanted;
      for (const Place& place : places) {
        wanted += SlowField(stream, field, column, place);
      }
      CAPTURE(round, field.name);
      REQUIRE(static_cast<int64_t>(wanted.size()) == layout->fields[f].spec.NumBytes());
      REQUIRE(std::memcmp(batch.Data(field.name), wanted.data(), wanted.size()) == 0);
    }
    CheckSlices(stream, sampled, batch);
  }
}

TEST_CASE("future rows that a table draws are gathered from their stream, with their stacks", "[unit]") {
  Rng rng(13);
  for (int round = 0; round < 60; ++round) {
    RandomStream stream = MakeRandomStream(&rng, /*large_rows=*/round % 2 == 0);
    stream.config.max_window = 30;
    stream.config.transition_rows = static_cast<int64_t>(1 + rng.UniformInt(5));
    stream.config.future_row = static_cast<FutureRow>(1 + rng.UniformInt(3));
    stream.config.view.push_back({"goal", stream.config.signature[0].name, ViewField::Rows::kFuture});
    stream.config.view.push_back({"goals", stream.config.signature.back().name, ViewField::Rows::kFuture, 3});
    const RowLayout layout(stream.config.signature);
    TableState state(stream.config, static_cast<uint64_t>(round));
    RemovedRows removed;
    std::vector<Place> places;  // By key.
    const uint64_t total = stream.rows[0].size();
    for (int i = 0; i < 20; ++i) {
      const size_t rows = 2 + rng.UniformInt(std::min<uint64_t>(30, total) - 1);
      const size_t first = rng.UniformInt(total - rows + 1);
      const auto context = rng.UniformInt(std::min(first, static_cast<size_t>(stream.config.MaxContextRows())) + 1);
      places.push_back({first, rows, context});
      NewItem item;
      item.window = MakeWindow(stream, first, rows, context);
      item.priority = 1;
      state.Insert(std::move(item), &removed);
    }
    const auto sampled = std::make_shared<Sampled>(state.Sample({25, 25}, &removed));
    const auto batch_layout =
        std::make_shared<const BatchLayout>(testing::ValueOf(MakeBatchLayout(stream.config, 25, size_t{1} << 30)));
    const SampledBatch batch = testing::ValueOf(
        Gather(stream.config, layout, batch_layout, *sampled, AllocateBytes(batch_layout->total_bytes)));
    const auto* const offsets = static_cast<const int64_t*>(batch.Data(kItemFutureOffset));
    const auto* const lengths = static_cast<const int64_t*>(batch.Data(kItemLength));
    for (const ViewField& field : stream.config.view) {
      const auto column = std::find_if(stream.config.signature.begin(), stream.config.signature.end(),
                                       [&field](const ArraySpec& spec) { return spec.name == field.column; });
      std::string wanted;
      for (size_t i = 0; i < 25; ++i) {
        Place place = places[sampled->items[i].key];
        const bool is_episode = stream.config.future_row == FutureRow::kEpisode;
        REQUIRE(offsets[i] >= (is_episode ? -static_cast<int64_t>(place.context) : 1));
        REQUIRE(offsets[i] < static_cast<int64_t>(place.rows));
        place.rows = std::min(place.rows, static_cast<size_t>(stream.config.transition_rows));
        REQUIRE(lengths[i] == static_cast<int64_t>(place.rows));
        place.future_offset = offsets[i];
        wanted += SlowField(stream, field, static_cast<size_t>(column - stream.config.signature.begin()), place);
      }
      CAPTURE(round, field.name, field.stack);
      REQUIRE(std::memcmp(batch.Data(field.name), wanted.data(), wanted.size()) == 0);
    }
    CheckSlices(stream, sampled, batch);
  }
}

TEST_CASE("a batch of no items has no slices", "[unit]") {
  const TableConfig config = testing::SmallTable();
  const auto sampled = std::make_shared<Sampled>();
  sampled->table_items = 3;
  const SlicedBatch slices =
      testing::ValueOf(GatherSlices(config, RowLayout(config.signature), std::make_shared<const BatchLayout>(),
                                    *sampled, sampled, [](size_t bytes) { return AllocateBytes(bytes); }));
  REQUIRE(slices.data.size() == 0);
  REQUIRE(slices.facts.table_items == 3);
}

TEST_CASE("a block that sampled items share is counted once, however often they were drawn", "[unit]") {
  const std::vector<ChunkRef> first = testing::MakeRows(1, 0, {3, 3});
  const std::vector<ChunkRef> second = testing::MakeRows(2, 0, {5});
  Sampled sampled;
  REQUIRE(BlockBytes(sampled) == 0);
  for (const auto& chunks : {first, second, first}) {
    sampled.items.emplace_back();
    for (const ChunkRef& chunk : chunks) {
      sampled.items.back().window.chunks.push_back(chunk);
    }
  }
  REQUIRE(BlockBytes(sampled) == first[0]->block_bytes() + second[0]->block_bytes());
}

TEST_CASE("a layout of another table or another batch size is refused", "[unit]") {
  const TableConfig config = testing::SmallTable();
  TableConfig other = config;
  other.max_window = 5;
  const BatchLayout layout = testing::ValueOf(MakeBatchLayout(config, 8, size_t{1} << 20));
  REQUIRE_OK(CheckLayout(config, layout, 8));
  REQUIRE_CODE(CheckLayout(config, layout, 7), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(CheckLayout(other, layout, 8), absl::StatusCode::kInvalidArgument);
  BatchLayout shorter = layout;
  shorter.fields.pop_back();
  REQUIRE_CODE(CheckLayout(config, shorter, 8), absl::StatusCode::kInvalidArgument);
}

}  // namespace waggle
