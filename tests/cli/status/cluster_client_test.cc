#include "cli/status/cluster_client.h"

#include <string>

#include "tests/cli/fake_services.h"
#include "tests/cli/sample_snapshot.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::FakeServices;
using ::waggle::testing::SampleSnapshot;
using ::waggle::testing::ValueOf;

constexpr absl::Duration kTimeout = absl::Seconds(30);

TEST_CASE("A snapshot holds the hub's overview and every replay server's tables", "[grpc]") {
  FakeServices services;
  services.workers.overview = SampleSnapshot().overview;
  services.workers.overview.mutable_workers(3)->set_address(services.address());
  services.replay.tables = SampleSnapshot().replay_servers[0].tables;
  services.replay.tables.mutable_tables(0)->mutable_config()->set_name("pole-x7k2q/transitions");
  services.replay.tables.add_tables()->mutable_config()->set_name("cart-99abc/transitions");
  ClusterClient client(services.address(), "pole-x7k2q");
  for (int i = 0; i < 2; ++i) {
    const ClusterSnapshot snapshot = ValueOf(client.Fetch(kTimeout));
    CHECK(snapshot.overview.env_steps() == 198'432);
    REQUIRE(snapshot.replay_servers.size() == 1);
    CHECK(snapshot.replay_servers[0].address == services.address());
    REQUIRE_OK(snapshot.replay_servers[0].status);
    REQUIRE(snapshot.replay_servers[0].tables.tables_size() == 1);  // Its own table.
    CHECK(snapshot.replay_servers[0].tables.tables(0).config().name() == "transitions");
    CHECK(snapshot.replay_servers[0].tables.tables(0).items() == 40'000);
  }
}

TEST_CASE("A replay server that hangs does not delay the others", "[grpc]") {
  FakeServices hub;
  FakeServices one;
  FakeServices other;
  // The server that is asked first.
  FakeServices& hanging = one.address() < other.address() ? one : other;
  const StopToken released;
  hanging.replay.describe_hangs_until = released;
  testing::AddWorker(v1::ROLE_REPLAY_SERVER, 0, &hub.workers.overview)->set_address(one.address());
  testing::AddWorker(v1::ROLE_REPLAY_SERVER, 1, &hub.workers.overview)->set_address(other.address());
  const ClusterSnapshot snapshot = ValueOf(ClusterClient(hub.address(), "pole-x7k2q").Fetch(absl::Seconds(3)));
  released.RequestStop();
  REQUIRE(snapshot.replay_servers.size() == 2);
  for (const ReplayServerState& server : snapshot.replay_servers) {
    CHECK(server.status.code() ==
          (server.address == hanging.address() ? absl::StatusCode::kDeadlineExceeded : absl::StatusCode::kOk));
  }
}

TEST_CASE("A replay server that is gone is not asked", "[grpc]") {
  FakeServices services;
  services.workers.overview = SampleSnapshot().overview;
  services.workers.overview.mutable_workers(3)->set_alive(false);
  CHECK(ValueOf(ClusterClient(services.address(), "pole-x7k2q").Fetch(kTimeout)).replay_servers.empty());
}

TEST_CASE("An experiment that has not begun has a state and a reason, without an overview", "[grpc]") {
  FakeServices services;
  services.workers.none = true;
  v1::ExperimentInfo& info = services.experiments.experiments[0];
  info.set_state(v1::RUN_STATE_QUEUED);
  info.set_reason("it waits for 2 actors");
  const ClusterSnapshot snapshot = ValueOf(ClusterClient(services.address(), "pole-x7k2q").Fetch(kTimeout));
  CHECK(snapshot.info.id() == "pole-x7k2q");
  CHECK(snapshot.overview.run_state() == v1::RUN_STATE_QUEUED);
  CHECK(snapshot.overview.outcome_reason() == "it waits for 2 actors");
  CHECK(snapshot.overview.experiment_name() == "pole");
}

TEST_CASE("The replay servers of an ended experiment are not asked", "[grpc]") {
  FakeServices services;
  services.workers.overview = SampleSnapshot().overview;
  services.workers.overview.mutable_workers(3)->set_address(services.address());
  services.experiments.experiments[0].set_state(v1::RUN_STATE_SOLVED);
  // Until the experiment is closed its workers still use its tables.
  CHECK(ValueOf(ClusterClient(services.address(), "pole-x7k2q").Fetch(kTimeout)).replay_servers.size() == 1);
  services.experiments.experiments[0].set_ended_at_us(1'000'100'000'000);
  const ClusterSnapshot snapshot = ValueOf(ClusterClient(services.address(), "pole-x7k2q").Fetch(kTimeout));
  CHECK(snapshot.overview.run_state() == v1::RUN_STATE_SOLVED);
  CHECK(snapshot.overview.workers_size() == 5);
  CHECK(snapshot.replay_servers.empty());
}

TEST_CASE("The error for an unknown experiment has its id, that for a hub that is away its address", "[grpc]") {
  const FakeServices services;
  const absl::Status unknown = ClusterClient(services.address(), "pole-00000").Fetch(kTimeout).status();
  REQUIRE_CODE(unknown, absl::StatusCode::kNotFound);
  CHECK_THAT(std::string(unknown.message()), Catch::Contains("pole-00000"));
  const absl::Status away = ClusterClient("127.0.0.1:1", "pole-x7k2q").Fetch(kTimeout).status();
  REQUIRE_CODE(away, absl::StatusCode::kUnavailable);
  CHECK_THAT(std::string(away.message()), Catch::Contains("127.0.0.1:1"));
}

}  // namespace
}  // namespace waggle
