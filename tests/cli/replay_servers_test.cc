#include "cli/replay_servers.h"

#include "tests/cli/fake_services.h"
#include "tests/cli/sample_snapshot.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::FakeServices;
using ::waggle::testing::SampleSnapshot;
using ::waggle::testing::ValueOf;

constexpr absl::Duration kTimeout = absl::Seconds(30);

TEST_CASE("All living replay servers of a run are found through its hub, and asked", "[grpc]") {
  FakeServices services;
  services.overview() = SampleSnapshot().overview;
  services.overview().mutable_workers(3)->set_address(services.address());
  services.explanation().add_tables()->set_summary("flows");
  ReplayServers servers = ValueOf(ReplayServers::Find({{}, services.address()}, kTimeout));
  REQUIRE(servers.size() == 1);
  const auto answers = servers.AskAll(&v1::ReplayService::Stub::Explain, v1::ExplainRequest(), kTimeout);
  REQUIRE(answers.size() == 1);
  REQUIRE_OK(answers[0].status);
  CHECK(answers[0].address == services.address());
  CHECK(answers[0].response.tables(0).summary() == "flows");
  services.overview().mutable_workers(3)->set_alive(false);
  REQUIRE_CODE(ReplayServers::Find({{}, services.address()}, kTimeout).status(), absl::StatusCode::kNotFound);
}

TEST_CASE("Servers that are named are asked without a hub, each once, and one that is away says so", "[grpc]") {
  FakeServices services;
  ReplayServers servers =
      ValueOf(ReplayServers::Find({{services.address(), "127.0.0.1:1", services.address()}, "127.0.0.1:1"}, kTimeout));
  REQUIRE(servers.size() == 2);
  const auto answers = servers.AskAll(&v1::ReplayService::Stub::Explain, v1::ExplainRequest(), kTimeout);
  CHECK(answers[0].address == "127.0.0.1:1");
  CHECK(answers[0].status.code() == absl::StatusCode::kUnavailable);
  REQUIRE_OK(answers[1].status);
}

TEST_CASE("A hub that is away is named to whoever looks for replay servers", "[grpc]") {
  const absl::Status status = ReplayServers::Find({{}, "127.0.0.1:1"}, kTimeout).status();
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK(status.message().find("the parameter server at 127.0.0.1:1 does not answer: ") == 0);
}

}  // namespace
}  // namespace waggle
