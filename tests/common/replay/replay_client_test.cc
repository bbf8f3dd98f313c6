#include "common/replay/replay_client.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/base/threads/thread.h"
#include "common/replay/replay_tables.h"
#include "tests/common/replay/replay_server_fixture.h"
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

TEST_CASE("Two experiments have tables of the same name on one server, each its own", "[grpc]") {
  ServerFixture server;
  std::vector<std::unique_ptr<ReplayConnection>> connections;
  connections.push_back(server.Connect("first-1"));
  connections.push_back(server.Connect("second-2"));
  std::vector<std::unique_ptr<ReplayWriter>> writers;
  for (size_t i = 0; i < connections.size(); ++i) {
    TableConfig table = SimpleTable("replay");
    table.max_items += static_cast<int64_t>(i);  // No table equals both configurations.
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

TEST_CASE("Batches larger than a piece arrive whole, compressed or not", "[grpc]") {
  const Codec codec = GENERATE(Codec::kNone, Codec::kLz4, Codec::kZstd);
  ServerFixture server;
  const auto connection = server.Connect();
  const TableConfig table = SimpleTable("large", 10'000);
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
  for (uint64_t row = 0; row < 200; row += 50) {
    REQUIRE_OK(writer->Append(SimpleBlock(row, 50, 10'000), StopToken()));
  }
  REQUIRE_OK(writer->Flush(kPatience));
  ReplaySamplerOptions options = SimpleSampler(table, 128);
  options.compression = codec;
  const auto sampler = ValueOf(connection->NewSampler(options));
  for (int i = 0; i < 10; ++i) {
    const SampledBatch batch = ValueOf(sampler->Next(StopToken()));
    CHECK(batch.layout->total_bytes > size_t{4} << 20);
    CHECK(reinterpret_cast<uintptr_t>(batch.bytes.get()) % 64 == 0);
    const auto* observations = static_cast<const float*>(batch.Data("observation"));
    const std::vector<float> rewards = Rewards(batch, 128);
    for (int k = 0; k < 128; ++k) {
      for (const int at : {0, 1, 4'999, 9'999}) {
        REQUIRE(observations[10'000 * k + at] == rewards[k]);
      }
    }
  }
}

TEST_CASE("A sampler that expects another table gets the error from each call", "[grpc]") {
  ServerFixture server;
  const auto connection = server.Connect();
  const TableConfig table = SimpleTable("replay");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  TableConfig other = table;
  other.view.pop_back();
  const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(other, 4)));
  REQUIRE_CODE(sampler->Next(StopToken()), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(sampler->Next(StopToken()), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("No more is sampled ahead than is prefetched", "[grpc]") {
  for (const int64_t prefetch : {1, 2, 5}) {
    ServerFixture server;
    const auto connection = server.Connect();
    const TableConfig table = SimpleTable("replay");
    REQUIRE_OK(connection->CreateTable(table, StopToken()));
    const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
    REQUIRE_OK(writer->Append(SimpleBlock(0, 10), StopToken()));
    REQUIRE_OK(writer->Flush(kPatience));
    ReplaySamplerOptions options = SimpleSampler(table, 4);
    options.prefetch = prefetch;
    const auto sampler = ValueOf(connection->NewSampler(options));
    for (int i = 1; i <= 40; ++i) {
      REQUIRE_OK(sampler->Next(StopToken()));
      REQUIRE(server.metrics().TakeSnapshot().counters.at("items_sampled") <= static_cast<double>(4 * (i + prefetch)));
    }
  }
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
    // Batches prefetched before the restart may come first; the newest rows come at last.
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
  const auto connection = ValueOf(NewGrpcReplayConnection({"127.0.0.1:1"}));  // No server listens there.
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
