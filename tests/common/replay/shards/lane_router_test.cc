#include "common/replay/shards/lane_router.h"

#include <cstring>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/random.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using Part = LaneRouter::Part;

// Rows of an int64 "id" (stream * 1000 + row) and a float32 "twice" of it.
std::vector<ArraySpec> Signature() {
  return {{"id", DType::kInt64, {}}, {"twice", DType::kFloat32, {2}}};
}

InsertBlock Block(std::vector<ChunkInfo> chunks, std::vector<ItemInfo> items = {}) {
  std::vector<int64_t> ids;
  for (const ChunkInfo& chunk : chunks) {
    for (uint64_t row = 0; row < chunk.rows; ++row) {
      ids.push_back(static_cast<int64_t>(chunk.stream * 1000 + chunk.first_row + row));
    }
  }
  const std::shared_ptr<char> bytes = AllocateBytes(ids.size() * 16 + 1);
  if (!ids.empty()) {
    std::memcpy(bytes.get(), ids.data(), ids.size() * 8);
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const float twice[] = {static_cast<float>(ids[i]), static_cast<float>(ids[i])};
    std::memcpy(bytes.get() + ids.size() * 8 + i * 8, twice, 8);
  }
  InsertBlock block;
  block.chunks = std::move(chunks);
  block.items = std::move(items);
  block.policy_version = 9;
  block.data = ByteSlices({bytes.get(), ids.size() * 16, bytes});
  return block;
}

// The ids of a part's rows, chunk by chunk, with both columns checked against each other.
std::vector<int64_t> Ids(const InsertBlock& block) {
  size_t rows = 0;
  for (const ChunkInfo& chunk : block.chunks) {
    rows += chunk.rows;
  }
  REQUIRE(block.data.size() == rows * 16);
  if (rows == 0) {
    return {};
  }
  std::vector<char> data(rows * 16);
  block.data.CopyTo(data.data());
  std::vector<int64_t> ids(rows);
  std::memcpy(ids.data(), data.data(), rows * 8);
  for (size_t i = 0; i < rows; ++i) {
    float twice[2];
    std::memcpy(twice, data.data() + rows * 8 + i * 8, 8);
    REQUIRE(twice[0] == static_cast<float>(ids[i]));
    REQUIRE(twice[1] == static_cast<float>(ids[i]));
  }
  return ids;
}

// "0: 3+2 4+1 begins | 2+3" as stream: first_row+rows …, then items first_row+rows.
std::string Text(const Part& part) {
  std::string text = absl::StrCat("to ", part.shard, ":");
  for (const ChunkInfo& chunk : part.block.chunks) {
    absl::StrAppend(&text, " ", chunk.stream, ":", chunk.first_row, "+", chunk.rows, chunk.begins ? "!" : "");
  }
  for (const ItemInfo& item : part.block.items) {
    absl::StrAppend(&text, " item ", item.stream, ":", item.first_row, "+", item.rows);
  }
  return text;
}

std::vector<std::string> Texts(const std::vector<Part>& parts) {
  std::vector<std::string> texts;
  for (const Part& part : parts) {
    texts.push_back(Text(part));
  }
  return texts;
}

using Strings = std::vector<std::string>;

const std::vector<bool> kNoneLost = {false, false};

size_t Never(const std::vector<int64_t>& /*lanes*/) {
  FAIL("no shard may be chosen");
  return 0;
}

// Chooses these shards in order.
LaneRouter::Choose Choose(std::vector<size_t> shards) {
  const auto left = std::make_shared<std::vector<size_t>>(std::move(shards));
  return [left](const std::vector<int64_t>& /*lanes*/) {
    REQUIRE_FALSE(left->empty());
    const size_t next = left->front();
    left->erase(left->begin());
    return next;
  };
}

}  // namespace

TEST_CASE("each stream's rows and items go to its shard, and stay there", "[unit]") {
  LaneRouter router(Signature(), 2);
  std::vector<Part> parts = router.Split(Block({{0, 0, 2}, {1, 0, 2}, {2, 0, 2}}, {{0, 1, 0, 2, 1}, {0, 2, 0, 2, 3}}),
                                         kNoneLost, Choose({0, 1, 0}));
  REQUIRE(Texts(parts) == Strings{"to 0: 0:0+2 2:0+2 item 2:0+2", "to 1: 1:0+2 item 1:0+2"});
  REQUIRE(Ids(parts[0].block) == std::vector<int64_t>{0, 1, 2000, 2001});
  REQUIRE(Ids(parts[1].block) == std::vector<int64_t>{1000, 1001});
  REQUIRE(parts[1].block.policy_version == 9);
  REQUIRE(parts[0].block.items[0].priority == 3);
  REQUIRE(router.lanes() == std::vector<int64_t>{2, 1});
  parts = router.Split(Block({{0, 2, 1}, {1, 2, 1}, {2, 2, 1}}, {{0, 1, 1, 2, 1}}), kNoneLost, Never);
  REQUIRE(Texts(parts) == Strings{"to 0: 0:2+1 2:2+1", "to 1: 1:2+1 item 1:1+2"});
}

TEST_CASE("a block with one shard's streams goes there without a copy", "[unit]") {
  LaneRouter router(Signature(), 2);
  const InsertBlock block = Block({{0, 0, 2}, {1, 0, 2}});
  const std::vector<Part> parts = router.Split(block, kNoneLost, Choose({1, 1}));
  REQUIRE(parts.size() == 1);
  REQUIRE(parts[0].block.data.slices()[0].data == block.data.slices()[0].data);
}

TEST_CASE("a stream may move when an episode begins, and its rows are numbered without a gap at each shard", "[unit]") {
  LaneRouter router(Signature(), 2);
  router.Split(Block({{0, 0, 3, true}}), kNoneLost, Choose({0}));
  // The end of the first episode and the second one in one block, with items of both.
  std::vector<Part> parts =
      router.Split(Block({{0, 3, 2}, {0, 5, 4, true}}, {{0, 0, 2, 3, 1}, {0, 0, 5, 3, 1}}), kNoneLost, Choose({1}));
  REQUIRE(Texts(parts) == Strings{"to 0: 0:3+2 item 0:2+3", "to 1: 0:5+4! item 0:5+3"});
  REQUIRE(Ids(parts[1].block) == std::vector<int64_t>{5, 6, 7, 8});
  parts = router.Split(Block({{0, 9, 2}}, {{0, 0, 8, 3, 1}}), kNoneLost, Never);
  REQUIRE(Texts(parts) == Strings{"to 1: 0:9+2 item 0:8+3"});
  parts = router.Split(Block({{0, 11, 1, true}}, {{0, 0, 11, 1, 1}}), kNoneLost, Choose({0}));
  REQUIRE(Texts(parts) == Strings{"to 0: 0:5+1! item 0:5+1"});
  parts = router.Split(Block({{0, 12, 1, true}}), kNoneLost, Choose({0}));  // Stays.
  REQUIRE(Texts(parts) == Strings{"to 0: 0:6+1!"});
  REQUIRE(router.items_without_rows() == 0);
}

TEST_CASE("a stream leaves a lost shard at once, and windows that reach back over the move are dropped", "[unit]") {
  LaneRouter router(Signature(), 2);
  router.Split(Block({{0, 0, 4, true}, {1, 0, 4, true}}), kNoneLost, Choose({0, 1}));
  std::vector<Part> parts = router.Split(
      Block({{0, 4, 3}, {1, 4, 3}}, {{0, 0, 3, 2, 1}, {0, 0, 4, 2, 1}, {0, 0, 6, 1, 1, 3}, {0, 1, 3, 2, 1}}),
      {true, false}, Choose({1}));
  REQUIRE(Texts(parts) == Strings{"to 1: 0:4+3! 1:4+3 item 0:4+2 item 1:3+2"});
  REQUIRE(router.items_without_rows() == 2);
  REQUIRE(router.lanes() == std::vector<int64_t>{0, 2});
  parts = router.Split(Block({{0, 7, 1}}, {{0, 0, 4, 4, 1}}), {true, false}, Never);
  REQUIRE(Texts(parts) == Strings{"to 1: 0:7+1 item 0:4+4"});
}

TEST_CASE("items with only earlier rows go to the shard of the rows", "[unit]") {
  LaneRouter router(Signature(), 2);
  router.Split(Block({{0, 0, 4}, {1, 0, 4}}), kNoneLost, Choose({0, 1}));
  const std::vector<Part> parts = router.Split(Block({{0, 4, 1}}, {{0, 1, 1, 2, 1}}), kNoneLost, Never);
  REQUIRE(Texts(parts) == Strings{"to 0: 0:4+1", "to 1: item 1:1+2"});
}

TEST_CASE("a malformed block goes to one server, which reports the mistake", "[unit]") {
  LaneRouter router(Signature(), 2);
  router.Split(Block({{0, 0, 2}, {1, 0, 2}}), kNoneLost, Choose({0, 1}));
  const auto check = [&](InsertBlock block) {
    const std::string before = Text({1, block});
    const std::vector<Part> parts = router.Split(std::move(block), kNoneLost, Never);
    REQUIRE(Texts(parts) == Strings{before});
  };
  check(Block({{1, 5, 2}, {0, 2, 2}}));                  // A gap.
  check(Block({{1, 2, 2}, {0, 2, 0}}));                  // No rows.
  check(Block({{1, 2, 2}, {0, 2, 1}}, {{0, 7, 0, 1}}));  // An item of an unknown stream.
  check(Block({{1, 2, 2}, {0, 2, 1}}, {{0, 1, 0, 0}}));
  InsertBlock block = Block({{1, 2, 2}, {0, 2, 1}});
  block.data = Block({{1, 2, 1}}).data;  // Bytes of another number of rows.
  check(std::move(block));
}

TEST_CASE("random streams arrive at their shards without gaps and with their windows", "[unit]") {
  Rng rng(4);
  for (int trial = 0; trial < 40; ++trial) {
    const size_t shards = 1 + rng.UniformInt(4);
    const auto lanes = static_cast<uint32_t>(1 + rng.UniformInt(5));
    LaneRouter router(Signature(), shards);
    std::vector<uint64_t> next(lanes);
    // By shard and stream, the ids from its first row on.
    std::map<std::pair<size_t, uint32_t>, std::vector<int64_t>> held;
    uint64_t rows = 0;
    uint64_t items = 0;
    uint64_t arrived = 0;
    for (int turn = 0; turn < 30; ++turn) {
      std::vector<ChunkInfo> chunks;
      std::vector<ItemInfo> windows;
      for (uint32_t lane = 0; lane < lanes; ++lane) {
        for (uint64_t i = 0; i < rng.UniformInt(3); ++i) {
          const auto count = static_cast<uint32_t>(1 + rng.UniformInt(4));
          chunks.push_back({lane, next[lane], count, rng.UniformInt(3) == 0});
          windows.push_back({0, lane, next[lane], count, static_cast<double>(lane * 1000 + next[lane])});
          next[lane] += count;
          rows += count;
          ++items;
        }
      }
      std::vector<bool> lost(shards);
      lost[rng.UniformInt(shards)] = shards > 1 && rng.UniformInt(4) == 0;
      const auto choose = [&](const std::vector<int64_t>& /*lanes*/) {
        size_t shard = rng.UniformInt(shards);
        while (lost[shard]) {
          shard = rng.UniformInt(shards);
        }
        return shard;
      };
      for (const Part& part : router.Split(Block(chunks, windows), lost, choose)) {
        REQUIRE_FALSE(lost[part.shard]);
        const std::vector<int64_t> ids = Ids(part.block);
        auto id = ids.begin();
        for (const ChunkInfo& chunk : part.block.chunks) {
          std::vector<int64_t>& stream = held[{part.shard, chunk.stream}];
          const uint64_t first = stream.empty() ? chunk.first_row : 0;
          if (stream.empty()) {
            stream.assign(first, -1);  // A stream may begin with any row.
          }
          REQUIRE(chunk.first_row == stream.size());
          for (uint32_t i = 0; i < chunk.rows; ++i, ++id) {
            // A chunk without a mark continues its stream.
            REQUIRE((i == 0 && (chunk.begins || stream.size() == first) ? true : stream.back() + 1 == *id));
            stream.push_back(*id);
          }
        }
        for (const ItemInfo& item : part.block.items) {
          const std::vector<int64_t>& stream = held.at({part.shard, item.stream});
          REQUIRE(stream.at(item.first_row) == static_cast<int64_t>(item.priority));
          REQUIRE(stream.at(item.first_row + item.rows - 1) == static_cast<int64_t>(item.priority) + item.rows - 1);
          ++arrived;
        }
      }
    }
    REQUIRE(arrived + router.items_without_rows() == items);
    REQUIRE(router.items_without_rows() == 0);  // No window here reaches back.
    uint64_t held_rows = 0;
    for (const auto& [place, stream] : held) {
      held_rows +=
          static_cast<uint64_t>(std::count_if(stream.begin(), stream.end(), [](int64_t id) { return id >= 0; }));
    }
    REQUIRE(held_rows == rows);
  }
}

}  // namespace waggle
