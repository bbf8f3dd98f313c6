#include "replay_server/writers/reserved_rows.h"

#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "common/base/random.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/id_rows.h"

namespace waggle {
namespace {

constexpr uint64_t kLongest = 5;

// The ids of a window's rows.
std::vector<int64_t> Ids(const Window& window) {
  const RowLayout layout(testing::SmallTable().signature);
  std::vector<int64_t> ids;
  size_t row = window.offset;
  for (const ChunkRef& chunk : window.chunks) {
    for (; row < chunk->rows() && ids.size() < window.rows; ++row) {
      int64_t id;
      float pair[2];
      std::memcpy(&id, chunk->Row(layout, 0, row), sizeof(id));
      std::memcpy(pair, chunk->Row(layout, 1, row), sizeof(pair));
      REQUIRE(pair[1] == -static_cast<float>(id));
      ids.push_back(id);
    }
    row = 0;
  }
  return ids;
}

// A block with these chunks.
std::vector<ChunkRef> Rows(const std::vector<ChunkInfo>& infos) {
  std::vector<uint32_t> rows;
  for (const ChunkInfo& info : infos) {
    rows.push_back(info.rows);
  }
  const NewBlock block = MakeChunks(std::make_shared<RowLayout>(testing::SmallTable().signature), rows, 2);
  testing::IdRows(infos).CopyTo(block.data);
  return block.chunks;
}

ReservedRows MakeHeld() {
  return ReservedRows(std::make_shared<RowLayout>(testing::SmallTable().signature), kLongest, 2);
}

}  // namespace

TEST_CASE("windows find their rows through any appending, copying and undoing", "[unit]") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Rng rng(seed);
    ReservedRows held = MakeHeld();
    std::map<uint32_t, uint64_t> next_rows;
    for (int step = 0; step < 300; ++step) {
      std::vector<ChunkInfo> infos;
      std::map<uint32_t, uint64_t> after = next_rows;
      for (uint64_t i = rng.UniformInt(4); i > 0; --i) {
        const auto stream = static_cast<uint32_t>(rng.UniformInt(3));
        const auto rows = static_cast<uint32_t>(1 + rng.UniformInt(7));
        infos.push_back({stream, after[stream], rows});
        after[stream] += rows;
      }
      const int64_t bytes = held.bytes();
      held.Append(infos, Rows(infos));
      if (rng.UniformInt(4) == 0) {
        held.UndoAppend(infos);
        REQUIRE(held.bytes() == bytes);
      } else {
        next_rows = after;
        held.ForgetOld(infos);
      }
      if (rng.UniformInt(5) == 0) {
        held.Shrink();
      }
      int64_t needed = 0;
      for (const auto& [stream, next] : next_rows) {
        const ReservedRows::Range* range = held.Find(stream);
        if (next == 0) {
          REQUIRE(range == nullptr);
          continue;
        }
        REQUIRE(range->next == next);
        const uint64_t tail = std::min<uint64_t>(next, kLongest);
        REQUIRE(range->first <= next - tail);
        needed += static_cast<int64_t>(tail) * testing::kSmallRowBytes;
        const uint64_t back = 1 + rng.UniformInt(tail);
        const uint64_t length = 1 + rng.UniformInt(back);
        const uint64_t context = rng.UniformInt(tail - back + 1);
        ItemInfo item{0, stream, next - back, static_cast<uint32_t>(length), 1, static_cast<uint32_t>(context)};
        Window window;
        REQUIRE(held.FindWindow(item, 100, &window) == ReservedRows::Found::kAll);
        std::vector<int64_t> wanted;
        REQUIRE(window.context == context);
        REQUIRE(window.rows == length);
        window.rows += static_cast<uint32_t>(context);  // From here on with its context.
        for (uint64_t row = next - back - context; row < next - back + length; ++row) {
          wanted.push_back(static_cast<int64_t>(stream * 1000 + row));
        }
        REQUIRE(Ids(window) == wanted);
        Window cut;
        REQUIRE(held.FindWindow(item, window.chunks.size() - 1, &cut) == ReservedRows::Found::kTooManyChunks);
        if (range->first > 0) {
          item.first_row = range->first - 1 + context;
          REQUIRE(held.FindWindow(item, 100, &window) == ReservedRows::Found::kNoRows);
        }
      }
      REQUIRE(held.NeededBytes({}) == needed + held.streams() * 1024);
    }
  }
}

TEST_CASE("the needed bytes of longer streams are known before rows are appended", "[unit]") {
  ReservedRows held = MakeHeld();
  const std::vector<ChunkInfo> first = {{0, 10, 2}, {1, 0, 9}};
  held.Append(first, Rows(first));
  REQUIRE(held.NeededBytes({}) == 2 * 1024 + (2 + 5) * testing::kSmallRowBytes);
  const std::vector<ChunkInfo> second = {{0, 12, 2}, {2, 3, 1}, {1, 9, 4}};
  const int64_t expected = 3 * 1024 + (4 + 1 + 5) * testing::kSmallRowBytes;
  REQUIRE(held.NeededBytes({{0, {12, 14}}, {2, {3, 4}}, {1, {9, 13}}}) == expected);
  held.Append(second, Rows(second));
  REQUIRE(held.NeededBytes({}) == expected);
}

TEST_CASE("rows before an episode's beginning are forgotten at once", "[unit]") {
  ReservedRows held = MakeHeld();
  const std::vector<ChunkInfo> infos = {{0, 0, 3}, {0, 3, 2, /*begins=*/true}, {1, 0, 4}};
  held.Append(infos, Rows(infos));
  Window window;
  // Windows of the same block may still begin before it.
  REQUIRE(held.FindWindow({0, 0, 1, 2, 1}, 100, &window) == ReservedRows::Found::kAll);
  held.ForgetOld(infos);
  REQUIRE(held.Find(0)->first == 3);
  REQUIRE(held.Find(1)->first == 0);
  REQUIRE(held.FindWindow({0, 0, 2, 2, 1}, 100, &window) == ReservedRows::Found::kNoRows);
  REQUIRE(held.FindWindow({0, 0, 4, 1, 1, 2}, 100, &window) == ReservedRows::Found::kNoRows);
  REQUIRE(held.FindWindow({0, 0, 4, 1, 1, 1}, 100, &window) == ReservedRows::Found::kAll);
  REQUIRE(held.NeededBytes({}) == (2 + 4) * testing::kSmallRowBytes + 2 * 1024);
  const std::vector<ChunkInfo> later = {{0, 5, 1}, {0, 6, 1, /*begins=*/true}, {1, 4, 1, /*begins=*/true}};
  held.Append(later, Rows(later));
  held.ForgetOld(later);
  REQUIRE(held.NeededBytes({}) == (1 + 1) * testing::kSmallRowBytes + 2 * 1024);
}

TEST_CASE("a large block is copied and released if only a small part of it is needed", "[unit]") {
  ReservedRows held = MakeHeld();
  const std::vector<ChunkInfo> infos = {{0, 0, 200'000}};
  std::vector<ChunkRef> chunks = Rows(infos);
  held.Append(infos, chunks);
  REQUIRE(held.bytes() > 3'000'000);
  held.ForgetOld(infos);
  REQUIRE(held.IsWasteful());
  REQUIRE(held.Shrink());
  REQUIRE(!held.IsWasteful());
  REQUIRE(held.bytes() < 3'000);
  REQUIRE(*chunks[0]->pins(1) == 0);
}

TEST_CASE("recorded rows are held again, and their stream may jump once", "[unit]") {
  const auto layout = std::make_shared<RowLayout>(testing::SmallTable().signature);
  ReservedRows held(layout, kLongest, 2);
  const std::vector<ChunkInfo> first = {{3, 0, 2}, {4, 10, 3}};
  const std::vector<ChunkInfo> second = {{3, 2, 4}};
  held.Append(first, Rows(first));
  held.Append(second, Rows(second));
  ReservedRows restored(layout, kLongest, 2);
  const std::vector<StreamRecord> records = held.RecordAll();
  const int64_t bytes = held.bytes();
  restored.Restore(records);
  CHECK(restored.streams() == 2);
  CHECK(held.bytes() == bytes);
  Window window;
  REQUIRE(restored.FindWindow({0, 3, 1, 4}, 8, &window) == ReservedRows::Found::kAll);
  CHECK(Ids(window) == std::vector<int64_t>{3001, 3002, 3003, 3004});
  REQUIRE(restored.MayJump(3));
  SECTION("without a jump") {
    const std::vector<ChunkInfo> next = {{3, 6, 1}};
    restored.Append(next, Rows(next));
    Window across;
    REQUIRE(restored.FindWindow({0, 3, 5, 2}, 8, &across) == ReservedRows::Found::kAll);
    CHECK(Ids(across) == std::vector<int64_t>{3005, 3006});
  }
  SECTION("with a jump") {
    const std::vector<ChunkInfo> next = {{3, 20, 2}};
    restored.Append(next, Rows(next));
    CHECK(restored.Find(3)->first == 20);
    Window across;
    CHECK(restored.FindWindow({0, 3, 19, 2}, 8, &across) == ReservedRows::Found::kNoRows);
    REQUIRE(restored.FindWindow({0, 3, 20, 2}, 8, &across) == ReservedRows::Found::kAll);
    CHECK(Ids(across) == std::vector<int64_t>{3020, 3021});
    restored.UndoAppend(next);
    CHECK(restored.Find(3) == nullptr);
  }
  CHECK(!restored.MayJump(3));
  CHECK(restored.MayJump(4));
}

}  // namespace waggle
