#include "cli/status/server_kind.h"

#include <atomic>
#include <string>

#include "cli/replay/replay_servers.h"
#include "cli/status/cluster_client.h"
#include "cli/status/describe_client.h"
#include "cli/status/replay_status.h"
#include "common/base/threads/stop_token.h"
#include "tests/cli/fake_services.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::FakeServices;
using ::waggle::testing::ValueOf;

constexpr absl::Duration kTimeout = absl::Seconds(30);

std::string Message(const absl::Status& status) {
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  return std::string(status.message());
}

TEST_CASE("The error for a server of another kind has its address and the right flag", "[grpc]") {
  const auto check = [](const absl::Status& status, const std::string& says, const std::string& flag) {
    CHECK_THAT(Message(status), Catch::Contains(says) && Catch::Contains(flag));
  };
  const FakeServices replay(FakeServices::Which::kReplayServer);
  const std::string is_replay = replay.address() + " is a replay server";
  check(ClusterClient(replay.address(), "pole-x7k2q").Fetch(kTimeout).status(), is_replay, "--replay-server");
  check(ReplayServers::Find({{}, replay.address()}, kTimeout).status(), is_replay, "--replay-server");
  FakeServices hub(FakeServices::Which::kHub);
  hub.workers.none = GENERATE(false, true);  // A hub without experiments too.
  const std::string is_hub = hub.address() + " is a parameter server";
  check(AskReplayStatus({hub.address()}, "", kTimeout, absl::ZeroDuration()).status(), is_hub, "--param-server");
  ReplayServers servers = ValueOf(ReplayServers::Find({{hub.address()}, ""}, kTimeout));
  const auto answers = servers.AskAll(&v1::ReplayService::Stub::Explain, v1::ExplainRequest(), kTimeout);
  check(answers[0].status, is_hub, "--param-server");
  const FakeServices other(FakeServices::Which::kNone);
  CHECK_THAT(Message(ClusterClient(other.address(), "pole-x7k2q").Fetch(kTimeout).status()),
             Catch::StartsWith(other.address() + " is no parameter server"));
  CHECK_THAT(Message(AskReplayStatus({other.address()}, "", kTimeout, absl::ZeroDuration()).status()),
             Catch::Contains(other.address() + " is no replay server"));
}

TEST_CASE("Servers of another kind are asked for their kind all at once", "[grpc]") {
  FakeServices first(FakeServices::Which::kHub);
  FakeServices second(FakeServices::Which::kHub);
  std::atomic<int> asked = 0;
  const StopToken both;
  for (FakeServices* hub : {&first, &second}) {
    hub->workers.before_overview = [&asked, &both] {
      if (++asked == 2) {
        both.RequestStop();
      }
      both.WaitFor(kTimeout);
    };
  }
  DescribeClient client;
  for (const ReplayServerState& server : client.Describe({first.address(), second.address()}, kTimeout)) {
    CHECK_THAT(Message(server.status), Catch::StartsWith(server.address + " is a parameter server, not a replay"));
  }
}

TEST_CASE("Other errors do not change", "[unit]") {
  const absl::Status away = absl::UnavailableError("connection refused");
  CHECK(TellOtherKind(away, "127.0.0.1:1", ServerKind::kReplayServer) == away);
  REQUIRE_OK(TellOtherKind(absl::OkStatus(), "127.0.0.1:1", ServerKind::kParamServer));
}

}  // namespace
}  // namespace waggle
