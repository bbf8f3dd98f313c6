#include "replay_server/rows/chunk.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

int64_t IdAt(const Chunk& chunk, size_t row) {
  const RowLayout layout(testing::SmallTable().signature);
  int64_t id;
  std::memcpy(&id, chunk.Row(layout, 0, row), sizeof(id));
  return id;
}

}  // namespace

TEST_CASE("chunks of one block find their own rows in it", "[unit]") {
  const std::vector<ChunkRef> chunks = testing::MakeRows(3, 10, {2, 1, 4});
  REQUIRE(chunks.size() == 3);
  REQUIRE(IdAt(*chunks[0], 0) == 3010);
  REQUIRE(IdAt(*chunks[0], 1) == 3011);
  REQUIRE(IdAt(*chunks[1], 0) == 3012);
  REQUIRE(IdAt(*chunks[2], 3) == 3016);
  const RowLayout layout(testing::SmallTable().signature);
  float pair[2];
  std::memcpy(pair, chunks[2]->Row(layout, 1, 0), sizeof(pair));
  REQUIRE(pair[0] == 3013);
  REQUIRE(pair[1] == -3013);
  REQUIRE(chunks[2]->rows() == 4);
  REQUIRE(chunks[2]->block_bytes() > 7 * 16);
  REQUIRE(chunks[2]->block_bytes() == chunks[0]->block_bytes());
}

TEST_CASE("a block lives until the last reference to any of its chunks is gone", "[unit]") {
  const auto layout = std::make_shared<const RowLayout>(testing::SmallTable().signature);
  const std::weak_ptr<const RowLayout> alive = layout;
  auto owner = layout;
  NewBlock block = MakeChunks(std::move(owner), std::vector<uint32_t>{1, 1}, 1);
  REQUIRE(alive.use_count() == 2);  // The block has one.
  ChunkRef kept = block.chunks[1];
  block.chunks.clear();
  REQUIRE(alive.use_count() == 2);
  ChunkRef copy = kept;
  ChunkRef moved = std::move(kept);
  copy = ChunkRef();
  REQUIRE(alive.use_count() == 2);
  kept = moved;
  REQUIRE(kept.get() == moved.get());
  kept = ChunkRef();
  REQUIRE(alive.use_count() == 2);
  { const ChunkRef last = std::move(moved); }
  REQUIRE(alive.use_count() == 1);
}

TEST_CASE("the chunks of a block share its pins, one count for each holder", "[unit]") {
  const auto layout = std::make_shared<const RowLayout>(testing::SmallTable().signature);
  const NewBlock block = MakeChunks(layout, std::vector<uint32_t>{1, 2}, 3);
  for (size_t holder = 0; holder < 3; ++holder) {
    REQUIRE(*block.chunks[0]->pins(holder) == 0);
    *block.chunks[0]->pins(holder) = 10 + holder;
  }
  for (size_t holder = 0; holder < 3; ++holder) {
    REQUIRE(*block.chunks[1]->pins(holder) == 10 + holder);
  }
}

TEST_CASE("a block without chunks takes no memory", "[unit]") {
  const auto layout = std::make_shared<const RowLayout>(testing::SmallTable().signature);
  const NewBlock block = MakeChunks(layout, {}, 1);
  REQUIRE(block.chunks.empty());
  REQUIRE(block.data == nullptr);
}

}  // namespace waggle
