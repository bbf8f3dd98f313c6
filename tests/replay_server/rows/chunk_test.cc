#include "replay_server/rows/chunk.h"

#include <memory>
#include <utility>

#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

namespace waggle {

TEST_CASE("a block lives as long as a reference to one of its chunks", "[unit]") {
  auto layout = std::make_shared<const RowLayout>(testing::SmallTable().signature);
  const std::weak_ptr<const RowLayout> alive = layout;  // The block has the layout.
  NewBlock block = MakeChunks(std::move(layout), std::vector<uint32_t>{1, 1}, 1);
  ChunkRef kept = block.chunks[1];
  block.chunks.clear();
  ChunkRef copy = kept;
  ChunkRef moved = std::move(kept);
  copy = ChunkRef();
  kept = moved;
  kept = ChunkRef();
  REQUIRE_FALSE(alive.expired());
  { const ChunkRef last = std::move(moved); }
  REQUIRE(alive.expired());
}

TEST_CASE("the chunks of a block share its pins, one for each holder", "[unit]") {
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

}  // namespace waggle
