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

TEST_CASE("The error for a replay server taken for a parameter server names its kind and its flag", "[grpc]") {
  const FakeServices replay(FakeServices::Which::kReplayServer);
  const std::string says = replay.address() +
                           " is a replay server, not a parameter server: "
                           "verbs that ask replay servers take it as --replay-server";
  CHECK(Message(ClusterClient(replay.address(), "pole-x7k2q").Fetch(kTimeout).status()) == says);
  CHECK(Message(ReplayServers::Find({{}, replay.address()}, kTimeout).status()) == says);
}

TEST_CASE("The error for a parameter server taken for a replay server names its kind and its flag", "[grpc]") {
  FakeServices hub(FakeServices::Which::kHub);
  hub.no_overview() = GENERATE(false, true);  // A hub without experiments too.
  const std::string says = hub.address() + " is a parameter server, not a replay server: name it with --param-server";
  CHECK(Message(AskReplayStatus({hub.address()}, "", kTimeout, absl::ZeroDuration()).status()) ==
        "the replay server at " + hub.address() + ": " + says);
  ReplayServers servers = ValueOf(ReplayServers::Find({{hub.address()}, ""}, kTimeout));
  const auto answers = servers.AskAll(&v1::ReplayService::Stub::Explain, v1::ExplainRequest(), kTimeout);
  CHECK(Message(answers[0].status) == says);
}

TEST_CASE("Servers of another kind are asked for their kind all at once", "[grpc]") {
  FakeServices first(FakeServices::Which::kHub);
  FakeServices second(FakeServices::Which::kHub);
  std::atomic<int> asked = 0;
  const StopToken both;
  for (FakeServices* hub : {&first, &second}) {
    hub->before_overview() = [&asked, &both] {
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

TEST_CASE("The error for a server of neither kind says so", "[grpc]") {
  const FakeServices other(FakeServices::Which::kNone);
  CHECK_THAT(Message(ClusterClient(other.address(), "pole-x7k2q").Fetch(kTimeout).status()),
             Catch::StartsWith(other.address() + " is no parameter server, or one of another version"));
  CHECK_THAT(Message(AskReplayStatus({other.address()}, "", kTimeout, absl::ZeroDuration()).status()),
             Catch::Contains(other.address() + " is no replay server, or one of another version"));
}

TEST_CASE("Other errors do not change", "[unit]") {
  const absl::Status away = absl::UnavailableError("connection refused");
  CHECK(TellOtherKind(away, "127.0.0.1:1", ServerKind::kReplayServer) == away);
  REQUIRE_OK(TellOtherKind(absl::OkStatus(), "127.0.0.1:1", ServerKind::kParamServer));
}

}  // namespace
}  // namespace waggle
