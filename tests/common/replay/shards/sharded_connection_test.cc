#include "common/replay/shards/sharded_connection.h"

#include "tests/common/replay/shards/local_shards.h"
#include "tests/support/catch.h"
#include "tests/support/conformance/replay_conformance.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::LocalShards;
using testing::ValueOf;

// Shards, and a connection to them.
struct Connected {
  LocalShards shards{3};
  ShardedReplayConnection connection{shards.shards()};
};

}  // namespace

TEST_CASE("the replay port over three shards keeps the port's contract", "[unit]") {
  const auto connect = [] {
    const auto connected = std::make_shared<Connected>();
    return std::shared_ptr<ReplayConnection>(connected, &connected->connection);
  };
  testing::CheckReplayConformance(connect, 3);
}

TEST_CASE("a table is divided among the shards", "[unit]") {
  LocalShards shards(2);
  ShardedReplayConnection connection(shards.shards());
  TableConfig table = testing::SimpleTable("table");
  table.max_items = 7;
  table.max_bytes = 1000;
  REQUIRE_OK(connection.CreateTable(table, StopToken()));
  REQUIRE(shards.table(0, "table")->config()->max_items == 4);
  REQUIRE(shards.table(1, "table")->config()->max_items == 3);
  REQUIRE(shards.table(0, "table")->config()->seed != shards.table(1, "table")->config()->seed);
}

TEST_CASE("a table that cannot be divided is refused", "[unit]") {
  LocalShards shards(3);
  ShardedReplayConnection connection(shards.shards());
  TableConfig table = testing::SimpleTable("table");
  table.max_items = 2;
  REQUIRE_CODE(connection.CreateTable(table, StopToken()), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("processes with the shards in another order get an error", "[unit]") {
  LocalShards shards(2);
  ShardedReplayConnection connection(shards.shards());
  const TableConfig table = testing::SimpleTable("table");
  REQUIRE_OK(connection.CreateTable(table, StopToken()));
  std::vector<std::shared_ptr<Shard>> reversed = shards.shards();
  std::swap(reversed[0], reversed[1]);
  ShardedReplayConnection other(reversed);
  REQUIRE_CODE(other.CreateTable(table, StopToken()), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("an absent shard gets its table once it answers", "[unit]") {
  LocalShards shards(2);
  shards.Kill(1);
  ShardedReplayConnection connection(shards.shards(), absl::Milliseconds(100));
  const TableConfig table = testing::SimpleTable("table");
  REQUIRE_OK(connection.CreateTable(table, StopToken()));
  const std::unique_ptr<ReplaySampler> sampler = ValueOf(connection.NewSampler(testing::SimpleSampler(table, 4)));
  const std::unique_ptr<ReplayWriter> writer = ValueOf(connection.NewWriter(testing::SimpleWriter("writer", table)));
  REQUIRE_OK(writer->Append(testing::SimpleBlock(0, 4), StopToken()));
  REQUIRE(ValueOf(sampler->Next(StopToken())).missing_shards == 1);
  shards.Start(1);
  while (ValueOf(sampler->Next(StopToken())).missing_shards > 0) {
  }
  REQUIRE(shards.table(1, "table") != nullptr);
}

TEST_CASE("a stop ends the wait for shards", "[unit]") {
  LocalShards shards(2);
  shards.Kill(0);
  shards.Kill(1);
  ShardedReplayConnection connection(shards.shards());
  const StopToken stop;
  const Thread stopper("stopper", [&] { stop.RequestStop(); });
  REQUIRE_CODE(connection.CreateTable(testing::SimpleTable("table"), stop), absl::StatusCode::kCancelled);
}

}  // namespace waggle
