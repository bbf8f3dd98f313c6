#include "common/replay_client/grpc_priority_updater.h"

#include <limits>
#include <memory>
#include <vector>

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

TEST_CASE("Priority updates reach the items they are for and are counted", "[grpc]") {
  ServerFixture server;
  const auto connection = server.Connect();
  TableConfig table = SimpleTable("prioritized");
  table.sampler.kind = SelectorKind::kPrioritized;
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

TEST_CASE("Updates that are made while the server is away are sent once it is there", "[grpc]") {
  ServerFixture server;
  const auto connection = server.Connect();
  const TableConfig table = SimpleTable("replay");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  server.Stop();
  const auto updater = ValueOf(connection->NewPriorityUpdater(table.name));
  for (uint64_t key = 0; key < 100; ++key) {
    REQUIRE_OK(updater->Update({key}, {1}, {1.0}));
  }
  REQUIRE_CODE(updater->Flush(absl::Milliseconds(20)), absl::StatusCode::kDeadlineExceeded);
  server.Start();
  REQUIRE_OK(updater->Flush(kPatience));
  CHECK(updater->counts().unknown == 100);  // The table went with the server.
}

TEST_CASE("Updates beyond what may wait for a server that is away are counted as unknown", "[grpc]") {
  const auto connection = ValueOf(NewGrpcReplayConnection({"127.0.0.1:1"}));
  const auto updater = ValueOf(connection->NewPriorityUpdater("replay"));
  constexpr size_t kMany = 100'000;
  for (int i = 0; i < 20; ++i) {
    REQUIRE_OK(updater->Update(std::vector<uint64_t>(kMany, 1), std::vector<uint64_t>(kMany, 1),
                               std::vector<double>(kMany, 1.0)));
  }
  CHECK(updater->counts().unknown > 10 * kMany);
  CHECK(updater->counts().applied == 0);
}

}  // namespace
}  // namespace waggle
