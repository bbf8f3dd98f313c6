#include "cli/replay/replay_servers.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config/experiment/experiment.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/cli/fake_services.h"
#include "tests/cli/sample_snapshot.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::FakeServices;
using ::waggle::testing::SampleSnapshot;
using ::waggle::testing::ValueOf;

constexpr absl::Duration kTimeout = absl::Seconds(30);

TEST_CASE("The living replay servers of a run are found through its hub", "[grpc]") {
  FakeServices services;
  services.workers.overview = SampleSnapshot().overview;
  services.workers.overview.mutable_workers(3)->set_address(services.address());
  services.replay.explanation.add_tables()->set_summary("flows");
  ReplayServers servers = ValueOf(ReplayServers::Find({{}, services.address()}, kTimeout));
  REQUIRE(servers.size() == 1);
  const auto answers = servers.AskAll(&v1::ReplayService::Stub::Explain, v1::ExplainRequest(), kTimeout);
  REQUIRE(answers.size() == 1);
  REQUIRE_OK(answers[0].status);
  CHECK(answers[0].address == services.address());
  CHECK(answers[0].response.tables(0).summary() == "flows");
  services.workers.overview.mutable_workers(3)->set_alive(false);
  REQUIRE_CODE(ReplayServers::Find({{}, services.address()}, kTimeout), absl::StatusCode::kNotFound);
}

// Gives the hub experiments with these ids and states.
void SetExperiments(const std::vector<std::pair<std::string, v1::RunState>>& experiments, FakeServices* services) {
  services->experiments.experiments.clear();
  for (const auto& [id, state] : experiments) {
    services->experiments.experiments.push_back(testing::RunningExperiment(id));
    services->experiments.experiments.back().set_state(state);
  }
}

TEST_CASE("A single running experiment need not be named; an ambiguous or ended one is refused", "[grpc]") {
  FakeServices services;
  services.workers.overview = SampleSnapshot().overview;
  services.workers.overview.mutable_workers(3)->set_address(services.address());
  const auto find = [&services](const std::string& id) {
    return ReplayServers::Find({{}, services.address(), id}, kTimeout);
  };
  SetExperiments({{"a", v1::RUN_STATE_SOLVED}, {"b", v1::RUN_STATE_RUNNING}, {"c", v1::RUN_STATE_QUEUED}}, &services);
  CHECK(ValueOf(find("")).experiment_id() == "b");
  CHECK(ValueOf(find("b")).TableName("t") == "b/t");
  REQUIRE_CODE(find("c").status(), absl::StatusCode::kNotFound);
  REQUIRE_CODE(find("d").status(), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(find("a").status(), absl::StatusCode::kFailedPrecondition);
  SetExperiments({{"a", v1::RUN_STATE_FINISHING}, {"b", v1::RUN_STATE_RUNNING}}, &services);
  const absl::Status ambiguous = find("").status();
  REQUIRE_CODE(ambiguous, absl::StatusCode::kFailedPrecondition);
  CHECK(absl::StrContains(ambiguous.message(), "say which one with --experiment: a, b"));
  SetExperiments({{"a", v1::RUN_STATE_FAILED}}, &services);
  REQUIRE_CODE(find("").status(), absl::StatusCode::kNotFound);
}

TEST_CASE("An experiment without replay servers has no missing ones", "[grpc]") {
  FakeServices services;
  services.workers.overview = SampleSnapshot().overview;
  services.workers.overview.set_experiment_yaml(
      "experiment: {name: x}\nenvironment: {name: CartPole-v1}\nalgorithm: {name: a3c}\nstop: {max_env_steps: 10}\n");
  REQUIRE_CODE(ReplayServers::Find({{}, services.address()}, kTimeout), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("Named servers are asked in their order without a hub, each once, and one that is away has an error",
          "[grpc]") {
  FakeServices services;
  const std::vector<std::string> named = {services.address(), "127.0.0.1:1", services.address()};
  ReplayServers servers = ValueOf(ReplayServers::Find({named, "127.0.0.1:1"}, kTimeout));
  REQUIRE(servers.size() == 2);
  REQUIRE_OK(servers.complete());
  CHECK(servers.TableName("t") == "t");
  const auto answers = servers.AskAll(&v1::ReplayService::Stub::Explain, v1::ExplainRequest(), kTimeout);
  REQUIRE_OK(answers[0].status);
  CHECK(answers[1].address == "127.0.0.1:1");
  CHECK(answers[1].status.code() == absl::StatusCode::kUnavailable);
  CHECK(ValueOf(ReplayServers::Find({named, "", "a"}, kTimeout)).TableName("t") == "a/t");
}

TEST_CASE("Workers that were silent for several heartbeats are listed, but not those that left", "[grpc]") {
  FakeServices services;
  v1::OverviewResponse& overview = services.workers.overview;
  overview = SampleSnapshot().overview;
  overview.mutable_workers(3)->set_address(services.address());
  overview.mutable_workers(0)->set_silent_ms(60'000);
  overview.mutable_workers(0)->set_gone(true);
  overview.mutable_workers(1)->set_silent_ms(2'900);
  overview.mutable_workers(2)->set_silent_ms(42'000);
  overview.mutable_workers(2)->set_alive(false);
  const ReplayServers servers = ValueOf(ReplayServers::Find({{}, services.address()}, kTimeout));
  REQUIRE(servers.silent().size() == 1);
  CHECK(servers.silent()[0].worker.role() == v1::ROLE_LEARNER);
  CHECK(servers.silent()[0].silent == absl::Seconds(42));
}

TEST_CASE("The servers of a run are in the order of their indices, and a missing one is named", "[grpc]") {
  FakeServices services;
  // A different order than that of the addresses and that of the joins.
  const std::vector<std::string> by_index = {"10.0.0.10:1", "10.0.0.1:1", "10.0.0.9:1"};
  for (const uint32_t index : {1u, 2u, 0u}) {
    testing::AddWorker(v1::ROLE_REPLAY_SERVER, index, &services.workers.overview)->set_address(by_index[index]);
  }
  ReplayServers servers = ValueOf(ReplayServers::Find({{}, services.address()}, kTimeout));
  REQUIRE(servers.size() == 3);
  for (size_t i = 0; i < by_index.size(); ++i) {
    CHECK(servers.address(i) == by_index[i]);
  }
  REQUIRE_OK(servers.complete());
  CHECK(servers.missing().empty());
  std::string missing;
  SECTION("the last one, which is gone") {
    services.workers.overview.mutable_workers(1)->set_alive(false);
    services.workers.overview.mutable_workers(1)->set_silent_ms(93'000);
    services.workers.overview.mutable_workers(1)->set_failure("it was tired");
    // A later server with this index, which is gone too, was heard of later.
    v1::WorkerInfo* const earlier = testing::AddWorker(v1::ROLE_REPLAY_SERVER, 2, &services.workers.overview);
    earlier->set_alive(false);
    earlier->set_silent_ms(900'000);
    missing = "replay server 2, last at 10.0.0.9:1, is missing: ";
  }
  SECTION("a server that the hub has forgotten") {
    services.workers.overview.mutable_workers()->DeleteSubrange(0, 1);
    missing = "replay server 1 is missing: ";
  }
  SECTION("a server that the experiment wants and that has not come yet") {
    services.workers.overview.set_experiment_yaml(
        ToYaml(ValueOf(LoadExperiment(absl::StrCat(WAGGLE_TEST_CONFIG_DIR, "/cartpole_apex_dqn.yaml"),
                                      {{"replay.servers", "4"}}, BuiltinAlgorithmDefinitions()))));
    missing = "replay server 3 is missing: ";
  }
  SECTION("a server whose index two have") {
    testing::AddWorker(v1::ROLE_REPLAY_SERVER, 0, &services.workers.overview)->set_address("10.0.0.3:1");
  }
  const ReplayServers others = ValueOf(ReplayServers::Find({{}, services.address()}, kTimeout));
  const absl::Status incomplete = others.complete();
  REQUIRE(others.missing().size() == (missing.empty() ? 0 : 1));
  if (!missing.empty()) {
    CHECK(absl::StartsWith(MissingText(others.missing().front()), missing));
  }
  REQUIRE_CODE(incomplete, absl::StatusCode::kUnavailable);
}

TEST_CASE("If no server answers well, another error goes before an unknown table", "[unit]") {
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

}  // namespace
}  // namespace waggle
