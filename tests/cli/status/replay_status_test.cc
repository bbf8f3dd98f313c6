#include "cli/status/replay_status.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "replay_server/service/replay_server.h"
#include "tests/cli/fake_services.h"
#include "tests/cli/golden_json.h"
#include "tests/cli/sample_snapshot.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text_proto.h"

namespace waggle {
namespace {

using testing::FakeServices;
using testing::SampleSnapshot;
using testing::ValueOf;

constexpr absl::Duration kTimeout = absl::Seconds(30);

// A server with a folder, in use.
ReplayServerState SampleServer() {
  ReplayServerState server = SampleSnapshot().replay_servers[0];
  server.tables.MergeFrom(testing::FromText<v1::DescribeResponse>(R"(
      software_version: "0.1.0" seconds_running: 310 memory_bytes: 1280000 max_memory_bytes: 4294967296
      writers: 2 writer_bytes: 12288 storage { checkpoint_number: 3 checkpoint_ago: 65 })"));
  server.tables.mutable_tables(0)->mutable_config()->MergeFrom(
      testing::FromText<v1::TableConfig>("durability: DURABILITY_LOG log_sync: true max_bytes: 2097152"));
  return server;
}

// The same server half a second later.
ReplayServerState Later(ReplayServerState server) {
  server.tables.set_seconds_running(server.tables.seconds_running() + 0.5);
  v1::TableInfo& table = *server.tables.mutable_tables(0);
  table.set_items_inserted(table.items_inserted() + 1'050);
  table.set_items_sampled(table.items_sampled() + 16'800);
  return server;
}

TEST_CASE("The status of servers that serve alone shows each server and each table, with rates", "[unit]") {
  ReplayServerState server = Later(SampleServer());
  server.rates = RatesBetween(SampleServer(), server);
  (*server.tables.mutable_refusals())["bad_priority"] = 120;
  CHECK(ReplayStatusText({server}) ==
        "  replay server   version  since     memory of rows      writers           checkpoint\n"
        "  127.0.0.1:4242  0.1.0    5 m 10 s  1.2 MiB of 4.0 GiB  2, with 12.0 KiB  number 3, 1 m 5 s ago\n"
        "\n"
        "  table        server          items           bytes               inserted         sampled           "
        "limiter                                durability   waiting\n"
        "  transitions  127.0.0.1:4242  40000 of 50000  1.2 MiB of 2.0 MiB  199050, 2.10k/s  3176800, 33.6k/s  "
        "16 samples an insert, from 1000 items  log, synced  none\n"
        "\n"
        "  refused by 127.0.0.1:4242: bad_priority 120\n");
  testing::CheckGolden(ReplayStatusJson({server}), "replay_status.json");
}

TEST_CASE("Problems of checkpoints and of writing are shown", "[unit]") {
  ReplayServerState server = SampleServer();
  server.tables.mutable_storage()->set_checkpoint_problem("no space");
  server.tables.mutable_storage()->set_write_problem("replay cannot\n be written");
  CHECK(absl::StrContains(ReplayStatusText({server}),
                          "number 3, 1 m 5 s ago; the last one failed: no space; replay cannot? be written\n"));
  server.tables.mutable_storage()->Clear();
  CHECK(absl::StrContains(ReplayStatusText({server}), "  none since it was started\n"));
  server.tables.clear_storage();
  CHECK(absl::StrContains(ReplayStatusText({server}), "  no --data-dir\n"));
  CHECK(nlohmann::json::parse(ReplayStatusJson({server}))["replay_servers"][0]["storage"].is_null());
}

TEST_CASE("A restarted server and a new table have no rates", "[unit]") {
  const ReplayServerState before = SampleServer();
  CHECK(RatesBetween(before, Later(before)).size() == 1);
  ReplayServerState restarted = Later(before);
  restarted.tables.set_seconds_running(1);
  CHECK(RatesBetween(before, restarted).empty());
  ReplayServerState other = Later(before);
  other.tables.mutable_tables(0)->set_items_inserted(7);
  CHECK(RatesBetween(before, other).empty());
  ReplayServerState away;
  away.status = absl::UnavailableError("connection refused");
  CHECK(RatesBetween(away, Later(before)).empty());
  other = Later(before);
  other.tables.mutable_tables(0)->mutable_config()->set_name("new");
  CHECK(RatesBetween(before, other).empty());
  CHECK(nlohmann::json::parse(ReplayStatusJson({before}))["tables"][0]["items_sampled_per_second"].is_null());
}

TEST_CASE("Each server is asked once, and one that is away does not hide the rest", "[grpc]") {
  FakeServices services;
  services.replay.tables = SampleServer().tables;
  const auto servers = ValueOf(
      AskReplayStatus({services.address(), "127.0.0.1:1", services.address()}, "", kTimeout, absl::ZeroDuration()));
  REQUIRE(servers.size() == 2);
  REQUIRE_OK(servers[0].status);
  CHECK_FALSE(servers[1].status.ok());
  const std::string text = ReplayStatusText(servers);
  CHECK(absl::StrContains(text, "  transitions  "));
  CHECK(absl::StrContains(text, "  does not answer: "));
  const auto json = nlohmann::json::parse(ReplayStatusJson(servers));
  CHECK(json["replay_servers"].size() == 1);
  CHECK(json["unanswered"][0]["server"] == "127.0.0.1:1");
  REQUIRE_CODE(AskReplayStatus({"127.0.0.1:1"}, "", kTimeout, absl::ZeroDuration()), absl::StatusCode::kUnavailable);
}

TEST_CASE("A server reports its memory limit and its checkpoints", "[grpc]") {
  const testing::TemporaryFolder folder;
  Metrics metrics;
  ReplayServerOptions options;
  options.listen = "127.0.0.1:0";
  options.data_dir = folder.File("data");
  options.store.max_bytes = int64_t{1} << 30;
  const auto server = ValueOf(ReplayServer::Start(options, &metrics));
  DescribeClient client;
  auto described = client.Describe({server->address()}, kTimeout);
  REQUIRE_OK(described[0].status);
  CHECK(described[0].tables.memory_bytes() == 0);
  CHECK(described[0].tables.max_memory_bytes() == uint64_t{1} << 30);
  CHECK_FALSE(described[0].tables.software_version().empty());
  CHECK(described[0].tables.seconds_running() > 0);
  REQUIRE(described[0].tables.has_storage());
  CHECK_FALSE(described[0].tables.storage().has_checkpoint_ago());
  const auto stub =
      v1::ReplayService::NewStub(grpc::CreateChannel(server->address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::CheckpointResponse made;
  REQUIRE(stub->Checkpoint(&context, v1::CheckpointRequest(), &made).ok());
  described = client.Describe({server->address()}, kTimeout);
  CHECK(described[0].tables.storage().checkpoint_number() == made.number());
  CHECK(described[0].tables.storage().checkpoint_ago() >= 0);
  CHECK(described[0].tables.storage().checkpoint_problem().empty());
  server->Shutdown(absl::ZeroDuration());
}

}  // namespace
}  // namespace waggle
