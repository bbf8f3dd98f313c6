#include "cli/replay_servers.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/experiment/experiment.h"
#include "common/rl/algorithms/builtin.h"
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
  CHECK(answers[1].address == "127.0.0.1:1");
  CHECK(answers[1].status.code() == absl::StatusCode::kUnavailable);
  REQUIRE_OK(answers[0].status);
}

TEST_CASE("Named servers stay in the order in which they are named", "[unit]") {
  const std::vector<std::string> named = {"10.0.0.9:1", "10.0.0.10:1", "10.0.0.1:1"};
  const ReplayServers servers = ValueOf(ReplayServers::Find({named, ""}, kTimeout));
  REQUIRE(servers.size() == 3);
  for (size_t i = 0; i < named.size(); ++i) {
    CHECK(servers.address(i) == named[i]);
  }
  REQUIRE_OK(servers.complete());
}

TEST_CASE("The servers of a run come in the order of their indices, and one that is missing is told", "[grpc]") {
  FakeServices services;
  // Neither the order of the addresses nor the one in which they joined.
  const std::vector<std::string> by_index = {"10.0.0.10:1", "10.0.0.1:1", "10.0.0.9:1"};
  for (const uint32_t index : {1u, 2u, 0u}) {
    testing::AddWorker(v1::ROLE_REPLAY_SERVER, index, &services.overview())->set_address(by_index[index]);
  }
  ReplayServers servers = ValueOf(ReplayServers::Find({{}, services.address()}, kTimeout));
  REQUIRE(servers.size() == 3);
  for (size_t i = 0; i < by_index.size(); ++i) {
    CHECK(servers.address(i) == by_index[i]);
  }
  REQUIRE_OK(servers.complete());
  SECTION("the last one, which is gone") {
    services.overview().mutable_workers(1)->set_alive(false);
  }
  SECTION("one that the hub does not know any more") {
    services.overview().mutable_workers()->DeleteSubrange(0, 1);
  }
  SECTION("one that the experiment wants and that has not come yet") {
    services.overview().set_experiment_yaml(
        ToYaml(ValueOf(LoadExperiment(absl::StrCat(WAGGLE_TEST_CONFIG_DIR, "/cartpole_apex_dqn.yaml"),
                                      {{"replay.servers", "4"}}, BuiltinAlgorithmDefinitions()))));
  }
  SECTION("one of which there are two") {
    testing::AddWorker(v1::ROLE_REPLAY_SERVER, 0, &services.overview())->set_address("10.0.0.3:1");
  }
  const absl::Status incomplete = ValueOf(ReplayServers::Find({{}, services.address()}, kTimeout)).complete();
  REQUIRE_CODE(incomplete, absl::StatusCode::kUnavailable);
  CHECK(absl::StrContains(incomplete.message(), "in the order of their indices"));
}

TEST_CASE("Where no server answers well an error is told that is not that there is no such table, if there is one",
          "[unit]") {
  using Answers = std::vector<ReplayAnswer<v1::ExplainResponse>>;
  const absl::Status missing = absl::NotFoundError("no table of that name");
  const absl::Status away = absl::UnavailableError("connection refused");
  const absl::Status late = absl::DeadlineExceededError("late");
  CHECK(ErrorOfAll(Answers{{"a", missing, {}}, {"b", away, {}}, {"c", late, {}}}) ==
        absl::UnavailableError("the replay server at b: connection refused"));
  CHECK(ErrorOfAll(Answers{{"a", late, {}}, {"b", missing, {}}}) ==
        absl::DeadlineExceededError("the replay server at a: late"));
  CHECK(ErrorOfAll(Answers{{"a", missing, {}}, {"b", missing, {}}}) ==
        absl::NotFoundError("the replay server at a: no table of that name"));
  REQUIRE_OK(ErrorOfAll(Answers{{"a", away, {}}, {"b", absl::OkStatus(), {}}}));
}

TEST_CASE("A hub that is away is named to whoever looks for replay servers", "[grpc]") {
  const absl::Status status = ReplayServers::Find({{}, "127.0.0.1:1"}, kTimeout).status();
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK(status.message().find("the parameter server at 127.0.0.1:1 does not answer: ") == 0);
}

}  // namespace
}  // namespace waggle
