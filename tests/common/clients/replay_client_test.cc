#include "common/clients/replay_client.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/base/thread.h"
#include "tests/common/clients/replay_server_fixture.h"
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

TEST_CASE("A connection needs just one good address", "[unit]") {
  REQUIRE_CODE(NewGrpcReplayConnection({}), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(NewGrpcReplayConnection({"nowhere"}), absl::StatusCode::kInvalidArgument);
  const auto several = NewGrpcReplayConnection({"127.0.0.1:1", "127.0.0.1:2"});
  REQUIRE_CODE(several, absl::StatusCode::kInvalidArgument);
  CHECK(std::string(several.status().message()).find("not available") != std::string::npos);
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

TEST_CASE("Batches larger than a piece arrive whole", "[grpc]") {
  ServerFixture server;
  const auto connection = server.Connect();
  const TableConfig table = SimpleTable("large", 10'000);
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
  for (uint64_t row = 0; row < 200; row += 50) {
    REQUIRE_OK(writer->Append(SimpleBlock(row, 50, 10'000), StopToken()));
  }
  REQUIRE_OK(writer->Flush(kPatience));
  const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(table, 128)));
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

TEST_CASE("Priority updates reach the items they are for and are counted", "[grpc]") {
  ServerFixture server;
  const auto connection = server.Connect();
  TableConfig table = SimpleTable("prioritized");
  table.sampler.kind = SamplerConfig::Kind::kPrioritized;
  table.sampler.priority_exponent = 1;
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
  REQUIRE_OK(writer->Append(SimpleBlock(0, 4), StopToken()));
  REQUIRE_OK(writer->Flush(kPatience));
  const auto updater = ValueOf(connection->NewPriorityUpdater(table.name));
  {
    ReplaySamplerOptions options = SimpleSampler(table, 64);
    options.prefetch = 1;
    const auto sampler = ValueOf(connection->NewSampler(options));
    const SampledBatch batch = ValueOf(sampler->Next(StopToken()));
    const auto* keys = static_cast<const int64_t*>(batch.Data(kItemKey));
    const auto* generations = static_cast<const int64_t*>(batch.Data(kItemGeneration));
    const std::vector<float> rewards = Rewards(batch, 64);
    // All but row 2 lose their priority.
    for (int k = 0; k < 64; ++k) {
      REQUIRE_OK(updater->Update({static_cast<uint64_t>(keys[k])}, {static_cast<uint64_t>(generations[k])},
                                 {rewards[k] == 2 ? 5.0 : 0.0}));
    }
    REQUIRE_OK(updater->Update({static_cast<uint64_t>(keys[0])}, {static_cast<uint64_t>(generations[0]) + 1}, {1.0}));
    REQUIRE_OK(updater->Flush(kPatience));
    CHECK(updater->counts().applied == 64);
    CHECK(updater->counts().stale + updater->counts().unknown == 1);
  }
  const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(table, 64)));
  for (const float reward : Rewards(ValueOf(sampler->Next(StopToken())), 64)) {
    REQUIRE(reward == 2);
  }
  REQUIRE_CODE(updater->Update({1}, {1, 2}, {1.0}), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(updater->Update({1}, {1}, {-1.0}), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(updater->Update({1}, {1}, {std::numeric_limits<double>::quiet_NaN()}),
               absl::StatusCode::kInvalidArgument);
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

TEST_CASE("Blocks that were appended while the server was away are inserted once it is there", "[grpc]") {
  ServerFixture server;
  const auto connection = server.Connect();
  const TableConfig table = SimpleTable("replay");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  server.Stop();
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
  for (uint64_t row = 0; row < 30; ++row) {
    REQUIRE_OK(writer->Append(SimpleBlock(row, 1), StopToken()));
  }
  REQUIRE_CODE(writer->Flush(absl::Milliseconds(20)), absl::StatusCode::kDeadlineExceeded);
  CHECK(writer->stats().items_inserted == 0);
  server.Start();
  REQUIRE_OK(writer->Flush(kPatience));
  CHECK(writer->stats().items_inserted == 30);
}

TEST_CASE("Errors that no attempt can mend surface from Append and Flush", "[grpc]") {
  ServerFixture server;
  const auto connection = server.Connect();
  const TableConfig table = SimpleTable("replay");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  SECTION("rows of the wrong size") {
    const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
    REQUIRE_OK(writer->Append(SimpleBlock(0, 3, 7), StopToken()));
    REQUIRE_CODE(writer->Flush(kPatience), absl::StatusCode::kInvalidArgument);
    REQUIRE_CODE(writer->Append(SimpleBlock(0, 3), StopToken()), absl::StatusCode::kInvalidArgument);
  }
  SECTION("a signature that is not the table's") {
    ReplayWriterOptions options = SimpleWriter("w", table);
    options.signature[0].dtype = DType::kFloat64;
    const auto writer = ValueOf(connection->NewWriter(options));
    const absl::Status status = writer->Append(SimpleBlock(0, 3), StopToken());
    CHECK((status.ok() || absl::IsFailedPrecondition(status)));
    REQUIRE_CODE(writer->Flush(kPatience), absl::StatusCode::kFailedPrecondition);
  }
  SECTION("a block that is too large to be sent") {
    const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
    REQUIRE_CODE(writer->Append(SimpleBlock(0, 1'000, 20'000), StopToken()), absl::StatusCode::kInvalidArgument);
  }
  SECTION("another table of the same name") {
    TableConfig other = table;
    other.max_items = 5;
    REQUIRE_CODE(connection->CreateTable(other, StopToken()), absl::StatusCode::kFailedPrecondition);
  }
  SECTION("a sampler that expects another table") {
    TableConfig other = table;
    other.view.pop_back();
    const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(other, 4)));
    REQUIRE_CODE(sampler->Next(StopToken()), absl::StatusCode::kFailedPrecondition);
    REQUIRE_CODE(sampler->Next(StopToken()), absl::StatusCode::kFailedPrecondition);
  }
  SECTION("options that can never work") {
    ReplayWriterOptions writer = SimpleWriter("", table);
    REQUIRE_CODE(connection->NewWriter(writer), absl::StatusCode::kInvalidArgument);
    writer = SimpleWriter("w", table);
    writer.tables.clear();
    REQUIRE_CODE(connection->NewWriter(writer), absl::StatusCode::kInvalidArgument);
    ReplaySamplerOptions sampler = SimpleSampler(table, 0);
    REQUIRE_CODE(connection->NewSampler(sampler), absl::StatusCode::kInvalidArgument);
    sampler = SimpleSampler(table, 1'000'000);
    sampler.max_batch_bytes = 1'000;
    REQUIRE_CODE(connection->NewSampler(sampler), absl::StatusCode::kResourceExhausted);
    sampler = SimpleSampler(table, 4);
    sampler.prefetch = 0;
    REQUIRE_CODE(connection->NewSampler(sampler), absl::StatusCode::kInvalidArgument);
    REQUIRE_CODE(connection->NewPriorityUpdater(""), absl::StatusCode::kInvalidArgument);
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

TEST_CASE("A writer's window holds Append up while the table has no room", "[grpc]") {
  ServerFixture server;
  const auto connection = server.Connect();
  TableConfig table = SimpleTable("limited");
  table.rate_limiter = {/*samples_per_insert=*/1, /*min_items=*/4, /*error_buffer=*/4};
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  ReplayWriterOptions options = SimpleWriter("w", table);
  options.max_unacknowledged_blocks = 3;
  const auto writer = ValueOf(connection->NewWriter(options));
  const StopToken stop;
  uint64_t appended = 0;
  {
    const Thread appender("appender", [&] {
      while (writer->Append(SimpleBlock(appended, 1), stop).ok()) {
        ++appended;
      }
    });
    ReplaySamplerOptions sampling = SimpleSampler(table, 1);
    sampling.prefetch = 1;
    const auto sampler = ValueOf(connection->NewSampler(sampling));
    for (int i = 0; i < 50; ++i) {
      REQUIRE_OK(sampler->Next(StopToken()));
    }
    stop.RequestStop();
  }
  CHECK(appended >= 50 - 4);
  CHECK(appended <= 50 + 2 + 8 + 3);  // Sampled, prefetched, the limiter's allowance, the window.
  CHECK(writer->stats().waited > absl::ZeroDuration());
}

TEST_CASE("A table that nobody creates is waited for", "[grpc]") {
  ServerFixture server;
  const TableConfig table = SimpleTable("late");
  const auto writing = server.Connect();
  const auto writer = ValueOf(writing->NewWriter(SimpleWriter("w", table)));
  REQUIRE_OK(writer->Append(SimpleBlock(0, 5), StopToken()));
  REQUIRE_CODE(writer->Flush(absl::Milliseconds(50)), absl::StatusCode::kDeadlineExceeded);
  const auto creating = server.Connect();
  REQUIRE_OK(creating->CreateTable(table, StopToken()));
  REQUIRE_OK(writer->Flush(kPatience));
  CHECK(writer->stats().items_inserted == 5);
}

}  // namespace
}  // namespace waggle
