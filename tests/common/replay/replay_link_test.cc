#include "common/replay/replay_link.h"

#include <memory>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "common/base/threads/thread.h"
#include "tests/common/replay/replay_server_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::ServerFixture;
using testing::SimpleTable;

TEST_CASE("A table is created, found again, and refused if another one has its name", "[grpc]") {
  ServerFixture server;
  ReplayLink link(server.address());
  const TableConfig table = SimpleTable("replay");
  CHECK(!link.HasCreated(table.name));
  REQUIRE_OK(link.CreateTable(table, StopToken()));
  REQUIRE_OK(link.CreateTable(table, StopToken()));
  CHECK(link.HasCreated(table.name));
  TableConfig other = table;
  other.max_items = 5;
  REQUIRE_CODE(link.CreateTable(other, StopToken()), absl::StatusCode::kFailedPrecondition);
  other.max_items = -5;
  REQUIRE_CODE(link.CreateTable(other, StopToken()), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("Tables that a server has lost are created again", "[grpc]") {
  ServerFixture server;
  ReplayLink link(server.address());
  REQUIRE_OK(link.CreateTable(SimpleTable("a"), StopToken()));
  REQUIRE_OK(link.CreateTable(SimpleTable("b"), StopToken()));
  server.Restart();
  REQUIRE_OK(link.CreateTable(SimpleTable("a"), StopToken()));  // Waits for the server.
  REQUIRE_OK(link.RestoreTables(StopToken()));
  TableConfig other = SimpleTable("b");
  other.max_items = 5;
  ReplayLink observer(server.address());
  REQUIRE_CODE(observer.CreateTable(other, StopToken()), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("A wanted table is created with the restored ones", "[grpc]") {
  ServerFixture server;
  ReplayLink link(server.address());
  link.WantTable(SimpleTable("a"));
  CHECK(link.HasCreated("a"));
  REQUIRE_OK(link.RestoreTables(StopToken()));
  TableConfig other = SimpleTable("a");
  other.max_items = 5;
  ReplayLink observer(server.address());
  REQUIRE_CODE(observer.CreateTable(other, StopToken()), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("A server that has moved is found again", "[grpc]") {
  ServerFixture server;
  std::string found;
  ReplayLink link("127.0.0.1:1", [&found] { return found; });
  CHECK(link.FindAgain() == "127.0.0.1:1");
  found = "nonsense";
  CHECK(link.FindAgain() == "127.0.0.1:1");
  found = server.address();
  REQUIRE_OK(link.CreateTable(SimpleTable("replay"), StopToken()));  // Looks again when the first attempt has failed.
  CHECK(link.address() == server.address());
}

TEST_CASE("A server is away until its address is known", "[grpc]") {
  const ServerFixture server;
  std::string found;
  ReplayLink link("", [&found] { return found; });
  link.WantTable(SimpleTable("replay"));
  CHECK(absl::IsUnavailable(link.RestoreTables(StopToken())));
  found = server.address();
  CHECK(link.FindAgain() == server.address());
  REQUIRE_OK(link.RestoreTables(StopToken()));
}

TEST_CASE("Creating a table waits for the server", "[grpc]") {
  ServerFixture server;
  server.Stop();
  ReplayLink link(server.address());
  const StopToken stop;
  absl::Status created = absl::UnknownError("not yet");
  {
    const Thread creator("creator", [&] { created = link.CreateTable(SimpleTable("replay"), stop); });
    absl::Cleanup give_up = [&stop] { stop.RequestStop(); };
    server.Start();
    std::move(give_up).Cancel();
  }
  REQUIRE_OK(created);
}

}  // namespace
}  // namespace waggle
