#include "param_server/workers/hub.h"

#include <limits>

#include "tests/support/catch.h"
#include "tests/support/model_conformance.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::ValueOf;

// A hub on a folder, with a clock that the test moves.
struct Fixture {
  Fixture() { Restart(); }

  void Restart() {
    hub.reset();
    state.reset();
    models = std::make_unique<ModelStore>(ModelStoreOptions());
    state = ValueOf(HubState::Open(folder.path()));
    RunPlan plan;
    plan.name = "x";
    plan.yaml = "the experiment";
    plan.stop.target_return = 100;
    plan.stop.max_env_steps = 1'000;
    HubOptions options;
    options.self.worker_id = "self";
    options.self.role = Role::kParamServer;
    options.metrics = &metrics;
    options.clock = [this] { return now; };
    hub = ValueOf(Hub::Create(options, plan, state.get(), models.get()));
  }

  Hub::Seat Join(const std::string& worker_id, Role role, const std::string& address = "") {
    WorkerIntroduction introduction;
    introduction.worker_id = worker_id;
    introduction.role = role;
    introduction.address = address;
    return ValueOf(hub->Join(introduction));
  }

  absl::StatusOr<Assignment> Beat(const std::string& worker_id, double env_steps = 0) {
    return hub->Heartbeat(Report(worker_id, env_steps));
  }

  WorkerReport Report(const std::string& worker_id, double env_steps = 0) {
    WorkerReport report;
    report.worker_id = worker_id;
    report.figures.counters["env_steps"] = env_steps;
    report.figures.taken_at = now - absl::UnixEpoch();
    return report;
  }

  const testing::TemporaryFolder folder;
  Metrics metrics;
  absl::Time now = absl::FromUnixSeconds(1'000'000);
  std::unique_ptr<ModelStore> models;
  std::unique_ptr<HubState> state;
  std::unique_ptr<Hub> hub;
};

EnvironmentSpec SomeEnvironment(int64_t actions = 2) {
  EnvironmentSpec environment;
  environment.name = "CartPole-v1";
  environment.observation = {"observation", DType::kFloat32, {4}};
  environment.action.num_values = actions;
  environment.max_episode_steps = 500;
  return environment;
}

DatedEvaluation Dated(double mean_return, int64_t finished_us) {
  DatedEvaluation dated;
  dated.evaluation.episodes = 20;
  dated.evaluation.mean_return = mean_return;
  dated.finished = absl::FromUnixMicros(finished_us);
  return dated;
}

TEST_CASE("A worker is told what the others are", "[unit]") {
  Fixture fixture;
  const Hub::Seat alone = fixture.Join("a", Role::kActor);
  CHECK(alone.assignment.run_state == RunState::kRunning);
  CHECK(alone.assignment.experiment_yaml == "the experiment");
  CHECK(alone.assignment.actors == 1);
  CHECK(alone.assignment.replay_servers.empty());
  CHECK_FALSE(alone.assignment.environment.has_value());
  CHECK_FALSE(alone.assignment.model_version.has_value());

  fixture.Join("r1", Role::kReplayServer, "10.0.0.1:7001");
  fixture.Join("r2", Role::kReplayServer, "10.0.0.2:7001");
  fixture.Join("b", Role::kActor);
  REQUIRE_OK(fixture.models->Publish(testing::MakeModel("x", {1, 5})));
  WorkerReport report = fixture.Report("b");
  report.environment = SomeEnvironment();
  REQUIRE_OK(fixture.hub->Heartbeat(report));
  const Assignment together = ValueOf(fixture.Beat("a"));
  CHECK(together.actors == 2);
  CHECK(together.replay_servers == std::vector<std::string>{"10.0.0.1:7001", "10.0.0.2:7001"});
  CHECK(together.environment == SomeEnvironment());
  CHECK(together.model_version == ModelVersion{1, 5});

  fixture.now += absl::Seconds(11);
  CHECK(ValueOf(fixture.Beat("a")).replay_servers.empty());
  CHECK(ValueOf(fixture.Beat("a")).actors == 1);
}

TEST_CASE("Epochs of learners never come again, not even after a restart", "[unit]") {
  Fixture fixture;
  CHECK(fixture.Join("l1", Role::kLearner).epoch == 1);
  CHECK(fixture.Join("a", Role::kActor).epoch == 0);
  CHECK(fixture.Join("l2", Role::kLearner).epoch == 2);
  fixture.Restart();
  CHECK(fixture.Beat("l2").status().code() == absl::StatusCode::kNotFound);
  WorkerIntroduction again;
  again.worker_id = "l2";
  again.role = Role::kLearner;
  again.epoch = 2;
  CHECK(ValueOf(fixture.hub->Join(again)).epoch == 2);  // It keeps what it publishes under.
  CHECK(fixture.Join("l3", Role::kLearner).epoch == 3);
  again.worker_id = "l9";
  again.epoch = 9;  // Given by a hub whose folder was lost.
  CHECK(ValueOf(fixture.hub->Join(again)).epoch == 9);
  CHECK(fixture.Join("l10", Role::kLearner).epoch == 10);
  again.epoch = std::numeric_limits<uint64_t>::max();
  CHECK(fixture.hub->Join(again).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("An actor with another environment is refused, and it alone", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  fixture.Join("b", Role::kActor);
  WorkerReport report = fixture.Report("a");
  report.environment = SomeEnvironment(2);
  REQUIRE_OK(fixture.hub->Heartbeat(report));
  report = fixture.Report("b", 5);
  report.environment = SomeEnvironment(3);
  const absl::Status refused = fixture.hub->Heartbeat(report).status();
  CHECK(refused.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(refused.message()),
             Catch::Contains(SomeEnvironment(2).DebugString()) && Catch::Contains(SomeEnvironment(3).DebugString()));
  CHECK(ValueOf(fixture.Beat("a")).run_state == RunState::kRunning);
  CHECK(fixture.hub->Overview().env_steps == 0);  // Nothing of a refused report is taken.
  report.environment->observation.shape = {-1};
  CHECK(fixture.hub->Heartbeat(report).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("An evaluation that is sent twice counts once, and a good one solves the run for everyone", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  fixture.Join("e", Role::kEvaluator);
  WorkerReport report = fixture.Report("e");
  report.evaluations = {Dated(10, 1), Dated(20, 2)};
  REQUIRE_OK(fixture.hub->Heartbeat(report));
  report.evaluations.push_back(Dated(30, 3));
  REQUIRE_OK(fixture.hub->Heartbeat(report));
  REQUIRE(fixture.hub->Overview().evaluations.size() == 3);
  CHECK(fixture.hub->Overview().evaluations[2].evaluation.mean_return == 30);
  report.evaluations = {Dated(std::numeric_limits<double>::quiet_NaN(), 4)};
  CHECK(fixture.hub->Heartbeat(report).status().code() == absl::StatusCode::kInvalidArgument);
  report.evaluations = {Dated(100, 5)};
  CHECK(ValueOf(fixture.hub->Heartbeat(report)).run_state == RunState::kSolved);
  CHECK(ValueOf(fixture.Beat("a")).run_state == RunState::kSolved);

  fixture.Restart();  // A run that is over stays so.
  CHECK(fixture.Join("a", Role::kActor).assignment.run_state == RunState::kSolved);
  CHECK_THAT(fixture.hub->Overview().outcome_reason, Catch::Contains("the target is 100"));
}

TEST_CASE("Only the learner that counts can fail the run", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  fixture.Join("old", Role::kLearner);
  fixture.Join("new", Role::kLearner);
  for (const char* const worker_id : {"a", "old"}) {
    WorkerReport report = fixture.Report(worker_id);
    report.failure = "it broke";
    CHECK(ValueOf(fixture.hub->Heartbeat(report)).run_state == RunState::kRunning);
  }
  WorkerReport report = fixture.Report("new");
  report.failure = "no such device";
  CHECK(ValueOf(fixture.hub->Heartbeat(report)).run_state == RunState::kFailed);
  CHECK_THAT(fixture.hub->Overview().outcome_reason, Catch::Contains("no such device"));
}

TEST_CASE("Steps of an actor that left count towards the limit", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  REQUIRE_OK(fixture.Beat("a", 600));
  fixture.hub->Leave("a");
  CHECK(fixture.Beat("a", 601).status().code() == absl::StatusCode::kNotFound);
  fixture.Join("b", Role::kActor);
  CHECK(ValueOf(fixture.Beat("b", 399)).run_state == RunState::kRunning);
  CHECK(ValueOf(fixture.Beat("b", 400)).run_state == RunState::kLimit);
  CHECK(fixture.hub->Overview().env_steps == 1'000);
}

TEST_CASE("The overview shows everyone, this process too", "[unit]") {
  Fixture fixture;
  fixture.metrics.Add("models_pushed", 3);
  fixture.hub->SetOwnAddress("127.0.0.1:7000");
  fixture.Join("a", Role::kActor);
  REQUIRE_OK(fixture.models->Publish(testing::MakeModel("x", {1, 5})));
  fixture.now += absl::Hours(1);
  const HubOverview overview = fixture.hub->Overview();
  CHECK(overview.run_state == RunState::kRunning);
  CHECK(overview.experiment_name == "x");
  CHECK(overview.model == "x");
  CHECK(overview.model_version == ModelVersion{1, 5});
  CHECK(overview.model_bytes == 56);
  REQUIRE(overview.workers.size() == 2);
  CHECK(overview.workers[0].introduction.worker_id == "a");
  CHECK_FALSE(overview.workers[0].alive);
  CHECK(overview.workers[1].introduction.worker_id == "self");
  CHECK(overview.workers[1].introduction.address == "127.0.0.1:7000");
  CHECK(overview.workers[1].alive);
  CHECK(overview.workers[1].figures.counters.at("models_pushed") == 3);
}

TEST_CASE("An experiment is stored once, and another one is refused with advice", "[unit]") {
  const testing::TemporaryFolder folder;
  const auto state = ValueOf(HubState::Open(folder.path()));
  const absl::Time now = absl::FromUnixSeconds(5);
  CHECK(ValueOf(AdoptExperiment("", now, state.get())).empty());
  CHECK(ValueOf(AdoptExperiment("one", now, state.get())) == "one");
  CHECK(ValueOf(AdoptExperiment("one", now + absl::Hours(1), state.get())) == "one");
  CHECK(ValueOf(AdoptExperiment("", now, state.get())) == "one");
  CHECK(state->record().started == now);
  const absl::Status other = AdoptExperiment("two", now, state.get()).status();
  CHECK(other.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(other.message()), Catch::Contains("leave --experiment out"));
}

TEST_CASE("Without an experiment a hub serves all the same", "[unit]") {
  Fixture fixture;
  HubOptions options;
  options.self.worker_id = "self";
  options.self.role = Role::kParamServer;
  const auto hub = ValueOf(Hub::Create(options, std::nullopt, fixture.state.get(), fixture.models.get()));
  WorkerIntroduction actor;
  actor.worker_id = "a";
  CHECK(ValueOf(hub->Join(actor)).assignment.run_state == RunState::kNoExperiment);
  WorkerReport report = fixture.Report("a", 1e9);
  CHECK(ValueOf(hub->Heartbeat(report)).run_state == RunState::kNoExperiment);
  CHECK(hub->Overview().run_state == RunState::kNoExperiment);
}

}  // namespace
}  // namespace waggle
