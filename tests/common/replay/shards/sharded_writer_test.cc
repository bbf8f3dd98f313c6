#include "common/replay/shards/sharded_writer.h"

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/base/deadline.h"
#include "common/base/random.h"
#include "common/base/threads/thread.h"
#include "common/replay/shards/sharded_connection.h"
#include "tests/common/replay/shards/local_shards.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::LocalShards;
using testing::SimpleBlock;
using testing::ValueOf;

constexpr absl::Duration kLong = absl::Seconds(30);
constexpr absl::Duration kPatience = absl::Milliseconds(200);

// A block with `rows` rows of each stream. Every row is an item.
InsertBlock Rows(const std::vector<uint32_t>& streams, uint64_t first, uint32_t rows, bool begins = false) {
  InsertBlock block = SimpleBlock(first, rows * static_cast<uint32_t>(streams.size()));
  block.chunks.clear();
  block.items.clear();
  for (const uint32_t stream : streams) {
    block.chunks.push_back({stream, first, rows, begins});
    for (uint32_t row = 0; row < rows; ++row) {
      block.items.push_back({0, stream, first + row, 1, 1});
    }
  }
  return block;
}

struct Fixture {
  explicit Fixture(size_t count, int64_t max_blocks = 4, int64_t max_bytes = int64_t{64} << 20,
                   bool awaits_all_shards = false)
      : shards(count), connection(shards.shards(), kPatience) {
    REQUIRE_OK(connection.CreateTable(table, StopToken()));
    ReplayWriterOptions options = testing::SimpleWriter("writer", table);
    options.max_unacknowledged_blocks = max_blocks;
    options.max_unacknowledged_bytes = max_bytes;
    options.awaits_all_shards = awaits_all_shards;
    writer = ValueOf(connection.NewWriter(options));
  }

  int64_t Items(size_t shard) { return shards.table(shard, "table")->info().items_inserted; }
  void Append(InsertBlock block) { REQUIRE_OK(writer->Append(std::move(block), StopToken())); }
  void Flush() { REQUIRE_OK(writer->Flush(kLong)); }

  TableConfig table = testing::SimpleTable("table");
  LocalShards shards;
  ShardedReplayConnection connection;
  std::unique_ptr<ReplayWriter> writer;
};

}  // namespace

TEST_CASE("streams are spread evenly, and stay until an episode begins", "[unit]") {
  Fixture fixture(2);
  fixture.Append(Rows({0, 1, 2, 3}, 0, 2));
  fixture.Flush();
  REQUIRE(fixture.Items(0) == 4);
  REQUIRE(fixture.Items(1) == 4);
  fixture.Append(Rows({0}, 2, 3));
  fixture.Flush();
  REQUIRE(fixture.Items(0) + fixture.Items(1) == 11);
  REQUIRE((fixture.Items(0) == 7 || fixture.Items(1) == 7));
  REQUIRE(fixture.writer->stats().items_inserted == 11);
}

TEST_CASE("a single stream's episodes go to each shard in turn", "[unit]") {
  Fixture fixture(3);
  for (uint64_t episode = 0; episode < 9; ++episode) {
    fixture.Append(Rows({0}, episode * 4, 4, true));
  }
  fixture.Flush();
  for (size_t i = 0; i < 3; ++i) {
    REQUIRE(fixture.Items(i) == 12);
  }
}

TEST_CASE("streams of a lost shard go on at another one, and its blocks arrive once when it is back", "[unit]") {
  Fixture fixture(2);
  fixture.Append(Rows({0, 1}, 0, 2));
  fixture.Flush();
  fixture.shards.Pause(1);
  fixture.Append(Rows({0, 1}, 2, 2));  // Shard 1's half does not arrive.
  fixture.shards.Kill(1);
  while (fixture.shards.table(1, "table") != nullptr) {
    std::this_thread::yield();
  }
  for (uint64_t row = 4; row < 40; row += 2) {
    fixture.Append(Rows({0, 1}, row, 2));
  }
  REQUIRE_CODE(fixture.writer->Flush(absl::ZeroDuration()), absl::StatusCode::kDeadlineExceeded);
  fixture.shards.Start(1);
  fixture.Flush();
  REQUIRE(fixture.Items(0) == 2 + 2 + 2 * 36);
  REQUIRE(fixture.Items(1) == 2);
  REQUIRE(fixture.writer->stats().items_without_rows == 0);
  fixture.Append(Rows({0, 1}, 40, 2, true));
  fixture.Flush();
  REQUIRE(fixture.Items(1) == 4);
}

TEST_CASE("windows over a forced move are dropped and counted", "[unit]") {
  Fixture fixture(2);
  fixture.Append(Rows({0}, 0, 2));
  fixture.Flush();
  const size_t first = fixture.Items(0) > 0 ? 0 : 1;
  fixture.shards.Kill(first);
  while (fixture.shards.table(first, "table") != nullptr) {
    std::this_thread::yield();
  }
  InsertBlock block = Rows({0}, 2, 2);
  block.items[0] = {0, 0, 1, 2, 1};
  fixture.Append(std::move(block));
  fixture.shards.Start(first);
  fixture.Flush();
  REQUIRE(fixture.Items(1 - first) == 1);
  REQUIRE(fixture.writer->stats().items_without_rows == 1);
}

TEST_CASE("an append waits only if all present shards are full", "[unit]") {
  Fixture fixture(2, 2);
  fixture.shards.Pause(0);
  fixture.Append(Rows({0, 1}, 0, 1));
  // Stream 0's shard acknowledges nothing. Each shard has room for two blocks.
  for (uint64_t row = 1; row < 4; ++row) {
    fixture.Append(Rows({0}, row, 1));
  }
  const StopToken stop;
  absl::Status waited;
  {
    const Thread appender("appender", [&] { waited = fixture.writer->Append(Rows({0}, 4, 1), stop); });
    const Deadline deadline(kLong);
    while (!fixture.writer->stats().waiting && deadline.Left() > absl::ZeroDuration()) {
      std::this_thread::yield();
    }
    // Shard 0 stays paused, so after a while its stream goes elsewhere.
  }
  REQUIRE_OK(waited);
  REQUIRE(fixture.writer->stats().waited > absl::ZeroDuration());
  fixture.shards.Resume(0);
  fixture.Flush();
  REQUIRE(fixture.Items(0) == 4);
  REQUIRE(fixture.Items(1) == 2);
}

TEST_CASE("a hanging shard with few bytes is left if a large block does not fit beside them", "[unit]") {
  const InsertBlock large = Rows({0, 1}, 2, 100);
  Fixture fixture(2, 16, static_cast<int64_t>(large.data.size()));
  fixture.Append(Rows({0, 1}, 0, 1));
  fixture.Flush();
  fixture.shards.Pause(0);
  fixture.Append(Rows({0, 1}, 1, 1));  // One of the streams is at the paused shard.
  const StopToken stop;
  std::atomic<bool> done = false;
  absl::Status appended;
  {
    const Thread appender("appender", [&] {
      appended = fixture.writer->Append(large, stop);
      done = true;
    });
    const Deadline deadline(kLong);
    while (!done && deadline.Left() > absl::ZeroDuration()) {
      std::this_thread::yield();
    }
    stop.RequestStop();
  }
  REQUIRE_OK(appended);
  fixture.shards.Resume(0);
  fixture.Flush();
  REQUIRE(fixture.Items(0) == 2);
  REQUIRE(fixture.Items(1) == 202);
}

TEST_CASE("blocks are taken up to the room while all shards are away", "[unit]") {
  Fixture fixture(2, 3);
  fixture.Append(Rows({0, 1}, 0, 1));
  fixture.Flush();
  fixture.shards.Kill(0);
  fixture.shards.Kill(1);
  while (fixture.shards.table(0, "table") != nullptr || fixture.shards.table(1, "table") != nullptr) {
    std::this_thread::yield();
  }
  for (uint64_t row = 1; row < 4; ++row) {
    fixture.Append(Rows({0, 1}, row, 1));
  }
  const StopToken stop;
  absl::Status waited;
  {
    const Thread appender("appender", [&] { waited = fixture.writer->Append(Rows({0, 1}, 4, 1), stop); });
    const Deadline deadline(kLong);
    while (!fixture.writer->stats().waiting && deadline.Left() > absl::ZeroDuration()) {
      std::this_thread::yield();
    }
    stop.RequestStop();
  }
  REQUIRE_CODE(waited, absl::StatusCode::kCancelled);
  fixture.shards.Start(0);
  fixture.shards.Start(1);
  fixture.Flush();
  REQUIRE(fixture.Items(0) + fixture.Items(1) == 6);
}

TEST_CASE("a writer that waits for all shards divides its blocks alike, whichever of them is slow", "[unit]") {
  const auto play = [](std::optional<size_t> slow) {
    Fixture fixture(3, /*max_blocks=*/4, int64_t{64} << 20, /*awaits_all_shards=*/true);
    std::vector<int64_t> items;
    Rng rng(1);
    std::map<uint32_t, uint64_t> next;
    for (int turn = 0; turn < 12; ++turn) {
      if (slow.has_value()) {
        fixture.shards.Pause(*slow);
      }
      for (int i = 0; i < 6; ++i) {
        const auto stream = static_cast<uint32_t>(rng.UniformInt(3));
        const auto rows = static_cast<uint32_t>(1 + rng.UniformInt(4));
        fixture.Append(Rows({stream}, next[stream], rows, rng.UniformInt(2) == 0));
        next[stream] += rows;
      }
      if (slow.has_value()) {
        fixture.shards.Resume(*slow);
      }
      fixture.Flush();
      for (size_t i = 0; i < 3; ++i) {
        items.push_back(fixture.Items(i));
      }
    }
    return items;
  };
  const std::vector<int64_t> items = play(std::nullopt);
  for (size_t slow = 0; slow < 3; ++slow) {
    CHECK(play(slow) == items);
  }
}

TEST_CASE("a writer that waits for all shards keeps the streams of a lost one there", "[unit]") {
  Fixture fixture(2, /*max_blocks=*/1, int64_t{64} << 20, /*awaits_all_shards=*/true);
  fixture.Append(Rows({0, 1}, 0, 2));
  fixture.Flush();
  fixture.shards.Pause(1);
  fixture.Append(Rows({0, 1}, 2, 2));
  fixture.Append(Rows({1}, 4, 2));
  Thread resuming("resume", [&] { fixture.shards.Resume(1); });
  fixture.Append(Rows({1}, 6, 2));  // Waits for room if the shard has not come back.
  fixture.Append(Rows({1}, 8, 2));
  resuming.Join();
  fixture.Flush();
  CHECK(fixture.Items(0) == 4);
  CHECK(fixture.Items(1) == 10);
  CHECK(fixture.writer->stats().items_without_rows == 0);
}

}  // namespace waggle
