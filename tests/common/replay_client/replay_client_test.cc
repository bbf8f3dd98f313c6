#include "common/replay_client/replay_client.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/base/thread.h"
#include "common/replay_client/replay_tables.h"
#include "tests/common/replay_client/replay_server_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::Rewards;
using testing::ServerFixture;
using testing::SimpleBlock;
using testing::SimpleSampler;
using testing::SimpleTable;
using testing::SimpleWriter;
using testing::ValueOf;

constexpr absl::Duration kPatience = absl::Seconds(30);

TEST_CASE("A connection needs good addresses", "[unit]") {
  REQUIRE_CODE(NewGrpcReplayConnection({}), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(NewGrpcReplayConnection({"nowhere"}), absl::StatusCode::kInvalidArgument);
  const auto bad = NewGrpcReplayConnection({"127.0.0.1:1", "127.0.0.1"});
  REQUIRE_CODE(bad, absl::StatusCode::kInvalidArgument);
  CHECK(std::string(bad.status().message()).find("replay server 1: ") == 0);
  REQUIRE_CODE(NewGrpcReplayConnection({"127.0.0.1:1", "127.0.0.1:1"}), absl::StatusCode::kInvalidArgument);
  REQUIRE_OK(NewGrpcReplayConnection({"127.0.0.1:1", "127.0.0.1:2"}));
  REQUIRE_CODE(NewGrpcReplayConnection({"127.0.0.1:1", ""}), absl::StatusCode::kInvalidArgument);
  REQUIRE_OK(NewGrpcReplayConnection({"", "127.0.0.1:1", ""}, [] { return std::vector<std::string>(); }));
}

TEST_CASE("What is inserted over gRPC is sampled over gRPC", "[grpc]") {
  ServerFixture server;
  const auto connection = server.Connect();
  const TableConfig table = SimpleTable("replay");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
  for (uint64_t row = 0; row < 100; row += 10) {
    REQUIRE_OK(writer->Append(SimpleBlock(row, 10), StopToken()));
  }
  REQUIRE_OK(writer->Flush(kPatience));
  CHECK(writer->stats().items_inserted == 100);
  const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(table, 32)));
  for (int i = 0; i < 20; ++i) {
    const SampledBatch batch = ValueOf(sampler->Next(StopToken()));
    CHECK(batch.table_items == 100);
    const auto* observations = static_cast<const float*>(batch.Data("observation"));
    const std::vector<float> rewards = Rewards(batch, 32);
    for (int k = 0; k < 32; ++k) {
      REQUIRE(rewards[k] >= 0);
      REQUIRE(rewards[k] < 100);
      REQUIRE(observations[2 * k] == rewards[k]);
      REQUIRE(observations[2 * k + 1] == rewards[k]);
    }
  }
  CHECK(sampler->stats().batches == 20);
  CHECK(server.metrics().TakeSnapshot().counters.at("items_inserted") == 100);
}

TEST_CASE("Two experiments have tables of the same name on one server, each its own", "[grpc]") {
  ServerFixture server;
  std::vector<std::unique_ptr<ReplayConnection>> connections;
  connections.push_back(server.Connect("first-1"));
  connections.push_back(server.Connect("second-2"));
  std::vector<std::unique_ptr<ReplayWriter>> writers;
  for (size_t i = 0; i < connections.size(); ++i) {
    TableConfig table = SimpleTable("replay");
    table.max_items += static_cast<int64_t>(i);  // One table could not be both.
    REQUIRE_OK(connections[i]->CreateTable(table, StopToken()));
    writers.push_back(ValueOf(connections[i]->NewWriter(SimpleWriter(std::to_string(i), table))));
    REQUIRE_OK(writers[i]->Append(SimpleBlock(1'000 * i, 10), StopToken()));
    REQUIRE_OK(writers[i]->Flush(kPatience));
    const auto sampler = ValueOf(connections[i]->NewSampler(SimpleSampler(table, 8)));
    const SampledBatch batch = ValueOf(sampler->Next(StopToken()));
    CHECK(batch.table_items == 10);
    for (const float reward : Rewards(batch, 8)) {
      CHECK(reward >= static_cast<float>(1'000 * i));
      CHECK(reward < static_cast<float>(1'000 * i + 10));
    }
    const auto updater = ValueOf(connections[i]->NewPriorityUpdater("replay"));
    REQUIRE_OK(updater->Update({0}, {0}, {1.0}));
    REQUIRE_OK(updater->Flush(kPatience));
  }
  std::vector<std::string> names;
  for (const TableStatus& table : ValueOf(ReplayTables(server.address()).List())) {
    names.push_back(table.config.name);
  }
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"first-1/replay", "second-2/replay"});
}

TEST_CASE("A writer and a sampler go on after the server was restarted without its memory", "[grpc]") {
  ServerFixture server;
  const auto connection = server.Connect();
  const TableConfig table = SimpleTable("replay");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
  const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(table, 8)));
  const auto updater = ValueOf(connection->NewPriorityUpdater(table.name));
  uint64_t row = 0;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 20; ++i, row += 5) {
      REQUIRE_OK(writer->Append(SimpleBlock(row, 5), StopToken()));
    }
    REQUIRE_OK(writer->Flush(kPatience));
    CHECK(writer->stats().items_inserted == row);
    // What was prefetched before the restart may come first; the newest rows come in the end.
    float largest = 0;
    while (largest < static_cast<float>(row) - 100) {
      for (const float reward : Rewards(ValueOf(sampler->Next(StopToken())), 8)) {
        largest = std::max(largest, reward);
      }
    }
    REQUIRE_OK(updater->Update({1'000'000}, {1}, {1.0}));
    REQUIRE_OK(updater->Flush(kPatience));
    CHECK(updater->counts().unknown == static_cast<uint64_t>(round) + 1);
    server.Restart();
  }
}

TEST_CASE("Every call that waits ends soon after a stop", "[grpc]") {
  const auto connection = ValueOf(NewGrpcReplayConnection({"127.0.0.1:1"}));  // Nobody listens there.
  const TableConfig table = SimpleTable("replay");
  const StopToken stop;
  ReplayWriterOptions options = SimpleWriter("w", table);
  options.max_unacknowledged_blocks = 2;
  const auto writer = ValueOf(connection->NewWriter(options));
  const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(table, 8)));
  REQUIRE_OK(writer->Append(SimpleBlock(0, 1), stop));
  REQUIRE_OK(writer->Append(SimpleBlock(1, 1), stop));
  absl::Status created;
  absl::Status appended;
  absl::Status sampled;
  {
    const Thread a("create", [&] { created = connection->CreateTable(table, stop); });
    const Thread b("append", [&] { appended = writer->Append(SimpleBlock(2, 1), stop); });
    const Thread c("sample", [&] { sampled = sampler->Next(stop).status(); });
    stop.RequestStop();
  }
  CHECK(created.code() == absl::StatusCode::kCancelled);
  CHECK(appended.code() == absl::StatusCode::kCancelled);
  CHECK(sampled.code() == absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace waggle
