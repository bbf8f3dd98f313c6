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
  services.overview() = SampleSnapshot().overview;
  services.overview().mutable_workers(3)->set_address(services.address());
  services.tables() = SampleSnapshot().replay_servers[0].tables;
  ClusterClient client(services.address());
  for (int i = 0; i < 2; ++i) {
    const ClusterSnapshot snapshot = ValueOf(client.Fetch(kTimeout));
    CHECK(snapshot.overview.env_steps() == 198'432);
    REQUIRE(snapshot.replay_servers.size() == 1);
    CHECK(snapshot.replay_servers[0].address == services.address());
    REQUIRE_OK(snapshot.replay_servers[0].status);
    CHECK(snapshot.replay_servers[0].tables.tables(0).items() == 40'000);
  }
}

TEST_CASE("A replay server that is away does not hide the rest", "[grpc]") {
  FakeServices services;
  services.overview() = SampleSnapshot().overview;
  services.overview().mutable_workers(3)->set_address("127.0.0.1:1");
  const ClusterSnapshot snapshot = ValueOf(ClusterClient(services.address()).Fetch(kTimeout));
  CHECK(snapshot.overview.env_steps() == 198'432);
  REQUIRE(snapshot.replay_servers.size() == 1);
  CHECK_FALSE(snapshot.replay_servers[0].status.ok());
}

TEST_CASE("A replay server that hangs takes no time from the others", "[grpc]") {
  FakeServices hub;
  FakeServices one;
  FakeServices other;
  // Whichever is asked first.
  FakeServices& hanging = one.address() < other.address() ? one : other;
  const StopToken released;
  hanging.describe_hangs_until() = released;
  testing::AddWorker(v1::ROLE_REPLAY_SERVER, 0, &hub.overview())->set_address(one.address());
  testing::AddWorker(v1::ROLE_REPLAY_SERVER, 1, &hub.overview())->set_address(other.address());
  const ClusterSnapshot snapshot = ValueOf(ClusterClient(hub.address()).Fetch(absl::Seconds(3)));
  released.RequestStop();
  REQUIRE(snapshot.replay_servers.size() == 2);
  for (const ReplayServerState& server : snapshot.replay_servers) {
    CHECK(server.status.code() ==
          (server.address == hanging.address() ? absl::StatusCode::kDeadlineExceeded : absl::StatusCode::kOk));
  }
}

TEST_CASE("A replay server that is gone is not asked", "[grpc]") {
  FakeServices services;
  services.overview() = SampleSnapshot().overview;
  services.overview().mutable_workers(3)->set_alive(false);
  CHECK(ValueOf(ClusterClient(services.address()).Fetch(kTimeout)).replay_servers.empty());
}

TEST_CASE("A hub that is not there is named", "[grpc]") {
  const absl::Status status = ClusterClient("127.0.0.1:1").Fetch(kTimeout).status();
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK(status.message().find("the parameter server at 127.0.0.1:1 does not answer: ") == 0);
}

}  // namespace
}  // namespace waggle
