#include "common/replay/grpc_priority_updater.h"

#include <memory>
#include <vector>

#include "tests/common/replay/replay_server_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::ServerFixture;
using testing::SimpleTable;
using testing::ValueOf;

constexpr absl::Duration kPatience = absl::Seconds(30);

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
  CHECK(updater->counts().unknown == 100);  // The server has lost the table.
}

TEST_CASE("Updates beyond the limit for an absent server are counted as unknown", "[grpc]") {
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
