#include "replay_server/items/table_memory.h"

#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::kSmallRowBytes;
using testing::SmallTable;

TEST_CASE("a full table has at least a row and an entry for each item, within its limits", "[unit]") {
  TableConfig config = SmallTable();
  config.max_items = 1000;
  CHECK(LeastMemoryWhenFull(config) == 1000 * (kSmallRowBytes + 32));
  config.max_bytes = 10 * kSmallRowBytes + 3;
  CHECK(LeastMemoryWhenFull(config) == 10 * (kSmallRowBytes + 32));
  config.max_bytes = int64_t{1} << 30;
  config.memory_limit = 100;
  CHECK(LeastMemoryWhenFull(config) == 100 + 1000 * 32);
}

TEST_CASE("compressed columns are not counted, and no sum overflows", "[unit]") {
  TableConfig config = SmallTable();
  config.compression = {{"id", Codec::kLz4}};
  CHECK(LeastMemoryWhenFull(config) == 100 * (8 + 32));
  config.compression.push_back({"pair", Codec::kLz4});
  CHECK(LeastMemoryWhenFull(config) == 100 * 32);
  config.compression.clear();
  config.signature[0].shape = {int64_t{1} << 36};
  config.max_items = int64_t{1} << 31;
  config.max_bytes = std::numeric_limits<int64_t>::max();
  CHECK(LeastMemoryWhenFull(config) > std::numeric_limits<int64_t>::max() / 2);
}

TEST_CASE("a table's rows take at most max_bytes, or the rows of all its items", "[unit]") {
  TableConfig config = SmallTable();
  config.max_items = 1000;
  config.max_window = 5;
  CHECK(MostRowBytes(config) == 1000 * 5 * kSmallRowBytes);
  config.compression = {{"id", Codec::kLz4}};
  CHECK(MostRowBytes(config) == 1000 * 5 * kSmallRowBytes);
  config.max_bytes = 4000 * kSmallRowBytes;
  CHECK(MostRowBytes(config) == 4000 * kSmallRowBytes);
  config.max_items = int64_t{1} << 31;
  config.max_window = int64_t{1} << 24;
  config.max_bytes = std::numeric_limits<int64_t>::max();
  config.signature[0].shape = {int64_t{1} << 27};
  CHECK(MostRowBytes(config) == std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace waggle
