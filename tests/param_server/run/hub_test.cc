#include "param_server/run/hub.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "common/base/deadline.h"
#include "common/base/threads/stop_token.h"
#include "tests/param_server/run/hub_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/conformance/model_conformance.h"
#include "tests/support/eventually.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::ValueOf;

using Fixture = testing::HubFixture;

EnvironmentSpec SomeEnvironment(int64_t actions = 2) {
  EnvironmentSpec environment;
  environment.name = "CartPole-v1";
  environment.observations = {Box("observation", DType::kFloat32, {4})};
  environment.actions = {Discrete("action", actions)};
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

TEST_CASE("A worker is told the addresses of the others", "[unit]") {
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

  // The last addresses of replay servers that are away or gone stay: they may come back there.
  fixture.hub->SetAway("r2");
  fixture.hub->Dismiss("b", "it was silent");
  CHECK(ValueOf(fixture.Beat("a")).replay_servers == together.replay_servers);
  CHECK(ValueOf(fixture.Beat("a")).actors == 1);
  fixture.hub->Leave("r1");
  CHECK(ValueOf(fixture.Beat("a")).replay_servers == together.replay_servers);
}

TEST_CASE("Epochs of learners are never given twice, not even after a restart", "[unit]") {
  Fixture fixture;
  CHECK(fixture.Join("l1", Role::kLearner).epoch == 1);
  CHECK(fixture.Join("a", Role::kActor).epoch == 0);
  CHECK(fixture.Join("l2", Role::kLearner).epoch == 2);
  fixture.Restart();
  CHECK(fixture.Beat("l2").status().code() == absl::StatusCode::kNotFound);
  WorkerArrival again = {"l2", "", 2, {}};
  CHECK(ValueOf(fixture.hub->Join(again)).epoch == 2);  // It keeps its epoch.
  CHECK(fixture.Join("l3", Role::kLearner).epoch == 3);
  again.worker_id = "l9";
  for (const uint64_t never_given : {uint64_t{4}, std::numeric_limits<uint64_t>::max()}) {
    again.epoch = never_given;
    const absl::Status refused = fixture.TryJoin(again, Role::kLearner).status();
    CHECK(refused.code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(std::string(refused.message()),
               Catch::Contains(std::to_string(never_given)) && Catch::Contains("wanted at most 3"));
  }
  CHECK(fixture.Join("l4", Role::kLearner).epoch == 4);
}

TEST_CASE("No two workers have the same role, index and life, also after a restart", "[unit]") {
  Fixture fixture;
  CHECK(fixture.Join("a0", Role::kActor).life == 0);
  CHECK(fixture.Join("a1", Role::kActor).life == 0);  // Another index.
  CHECK(fixture.Join("e0", Role::kEvaluator).life == 0);
  fixture.hub->Leave("a0");
  const Hub::Seat repeated = fixture.Join("a1", Role::kActor);  // The first answer was lost.
  CHECK(repeated.index == 1);
  CHECK(repeated.life == 0);
  const Hub::Seat second = fixture.Join("b0", Role::kActor);
  CHECK(second.index == 0);
  CHECK(second.life == 1);
  CHECK(fixture.Join("b0", Role::kActor).life == 1);  // The first answer was lost.
  fixture.Restart();
  CHECK(ValueOf(fixture.hub->Join({"b0", "", 0, 1})).life == 1);  // It keeps its life.
  fixture.hub->Leave("b0");
  CHECK(fixture.Join("c0", Role::kActor).life == 2);
  fixture.seats.Order(fixture.hub.get(), "lost", Role::kActor, 7);
  CHECK(ValueOf(fixture.hub->Join({"lost", "", 0, 5})).life == 5);  // The folder of its hub was lost.
  fixture.seats.Order(fixture.hub.get(), "after", Role::kActor, 7);
  CHECK(ValueOf(fixture.hub->Join({"after", "", 0, {}})).life == 6);
  CHECK(fixture.hub->Join({"after", "", 0, std::numeric_limits<uint64_t>::max()}).status().code() ==
        absl::StatusCode::kInvalidArgument);
}

TEST_CASE("A life that cannot be saved is not given, and the worker may try again", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  fixture.hub->Leave("a");
  const std::string folder = fixture.folder.path();
  std::filesystem::rename(folder, folder + ".away");
  const absl::Status refused = fixture.TryJoin({"b", "", 0, {}}, Role::kActor).status();
  CHECK(refused.code() == absl::StatusCode::kUnavailable);
  CHECK(fixture.Beat("b").status().code() == absl::StatusCode::kNotFound);
  std::filesystem::rename(folder + ".away", folder);
  CHECK(fixture.Join("b", Role::kActor).life == 1);
}

TEST_CASE("A learner without an order may not join, and takes no epoch", "[unit]") {
  Fixture fixture;
  CHECK(fixture.Join("l1", Role::kLearner).epoch == 1);
  REQUIRE_CODE(fixture.hub->Join({"l2", "", 0, {}}), absl::StatusCode::kUnavailable);
  fixture.hub->Dismiss("l1", "it was silent");
  REQUIRE_CODE(fixture.hub->Join({"l1", "", 1, {}}), absl::StatusCode::kAlreadyExists);
  CHECK(fixture.Join("l2", Role::kLearner).epoch == 2);
}

TEST_CASE("A worker whose seat is given to another may not come back", "[unit]") {
  Fixture fixture;
  const uint64_t epoch = fixture.Join("l1", Role::kLearner).epoch;
  fixture.seats.Order(fixture.hub.get(), "l2", Role::kLearner, 0);
  CHECK(fixture.Beat("l1").status().code() == absl::StatusCode::kAlreadyExists);
  REQUIRE_CODE(fixture.hub->Join({"l1", "", epoch, {}}), absl::StatusCode::kAlreadyExists);
  CHECK(fixture.hub->fenced_epoch() == epoch);
  CHECK(ValueOf(fixture.hub->Join({"l2", "", 0, {}})).index == 0);
}

TEST_CASE("Only an actor with another environment is refused", "[unit]") {
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
  CHECK(fixture.hub->Overview().env_steps == 0);  // A refused report changes nothing.
  report.environment->observations[0].array.shape = {-1};
  CHECK(fixture.hub->Heartbeat(report).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("An evaluation that is sent twice counts once, and a good one solves the run", "[unit]") {
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
  report.evaluations = {Dated(30, 4)};
  report.evaluations[0].evaluation.mean_rewards = {std::numeric_limits<double>::infinity()};
  CHECK(fixture.hub->Heartbeat(report).status().code() == absl::StatusCode::kInvalidArgument);
  report.evaluations[0].evaluation.mean_rewards = {0.5, -2};
  CHECK(ValueOf(fixture.hub->Heartbeat(report)).evaluated_rewards == std::vector<double>{0.5, -2});
  REQUIRE_OK(fixture.models->Publish(testing::MakeModel("x", {1, 5})));
  report.evaluations = {Dated(100, 5), Dated(100, 6)};
  report.evaluations[0].evaluation.version = report.evaluations[1].evaluation.version = {1, 5};
  CHECK(ValueOf(fixture.hub->Heartbeat(report)).run_state == RunState::kSolved);
  CHECK(ValueOf(fixture.Beat("a")).run_state == RunState::kSolved);

  fixture.Restart();  // A run that is over stays over.
  CHECK(fixture.Join("a", Role::kActor).assignment.run_state == RunState::kSolved);
  CHECK_THAT(fixture.hub->Overview().outcome_reason, Catch::Contains("the target is 100"));
}

TEST_CASE("Only the last learner can fail the run", "[unit]") {
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

TEST_CASE("A spare learner that fails does not fail the run", "[unit]") {
  Fixture fixture;
  fixture.Join("healthy", Role::kLearner);
  REQUIRE_OK(fixture.models->Publish(testing::MakeModel("x", {1, 5})));
  fixture.Join("spare", Role::kLearner);
  CHECK(fixture.Fail("spare", "no CUDA here") == RunState::kRunning);
  fixture.hub->Leave("spare");
  CHECK(fixture.Fail("healthy", "a loss of NaN") == RunState::kFailed);  // It is the last learner.
}

TEST_CASE("Reports of a dismissed learner do not count, also without a successor", "[unit]") {
  Fixture fixture;
  fixture.Join("first", Role::kLearner);
  CHECK(fixture.hub->fenced_epoch() == 0);
  fixture.hub->Dismiss("first", "it was silent");
  CHECK(fixture.hub->fenced_epoch() == 1);
  CHECK(fixture.Join("second", Role::kLearner).epoch == 2);
  CHECK(fixture.hub->fenced_epoch() == 1);
}

TEST_CASE("A replaced learner cannot fail the run, not even as the first after a restart", "[unit]") {
  Fixture fixture;
  fixture.Join("zombie", Role::kLearner);
  fixture.Join("new", Role::kLearner);
  REQUIRE_OK(fixture.models->Publish(testing::MakeModel("x", {2, 5})));
  CHECK(fixture.Fail("zombie", "fenced off") == RunState::kRunning);
  fixture.Restart();
  REQUIRE_OK(fixture.hub->Join({"zombie", "", 1, {}}));
  CHECK(fixture.Fail("zombie", "fenced off") == RunState::kRunning);
}

TEST_CASE("A run that has failed goes on with a later learner, also after a restart", "[unit]") {
  Fixture fixture;
  fixture.Join("first", Role::kLearner);
  fixture.Join("a", Role::kActor);
  REQUIRE_OK(fixture.Beat("a", 10));
  CHECK(fixture.Fail("first", "the disk is full") == RunState::kFailed);
  SECTION("At once") {}
  SECTION("After a restart") {
    fixture.Restart();
  }
  // The same learner.
  CHECK(ValueOf(fixture.hub->Join({"first", "", 1, {}})).assignment.run_state == RunState::kFailed);
  fixture.now += absl::Hours(1);  // Not a part of the run's time.
  CHECK(fixture.Join("second", Role::kLearner).assignment.run_state == RunState::kRunning);
  CHECK(fixture.hub->Overview().outcome_reason.empty());
  fixture.Restart();
  CHECK(fixture.Join("a", Role::kActor).assignment.run_state == RunState::kRunning);
}

TEST_CASE("A run that was solved or reached its limit is not reopened", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  CHECK(ValueOf(fixture.Beat("a", 1'000)).run_state == RunState::kLimit);
  CHECK(fixture.Join("l", Role::kLearner).assignment.run_state == RunState::kLimit);
}

TEST_CASE("A run ends at its time limit though no worker is left", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  REQUIRE_OK(fixture.Beat("a", 10));
  fixture.hub->Leave("a");
  fixture.now += absl::Seconds(59);
  CHECK(fixture.hub->Overview().run_state == RunState::kRunning);
  fixture.now += absl::Seconds(1);
  CHECK(fixture.hub->Overview().run_state == RunState::kLimit);
  fixture.Restart();
  CHECK(fixture.state->record().progress.state == RunState::kLimit);
}

TEST_CASE("The time of a run survives the hub, without the time between two hubs", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  REQUIRE_OK(fixture.Beat("a", 10));
  fixture.now += absl::Seconds(40);
  REQUIRE_OK(fixture.Beat("a", 10));  // Without a new step.
  fixture.Restart([&fixture] { fixture.now += absl::Hours(1); });
  fixture.Join("a", Role::kActor);
  fixture.now += absl::Seconds(19);
  CHECK(ValueOf(fixture.Beat("a", 20)).run_state == RunState::kRunning);
  fixture.now += absl::Seconds(1);
  CHECK(ValueOf(fixture.Beat("a", 30)).run_state == RunState::kLimit);
}

TEST_CASE("The reason why a worker gave up is shown, and cut if it is too long", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  fixture.Fail("a", "no such device");
  CHECK(fixture.hub->Overview().workers[0].failure == "no such device");
  fixture.hub->Leave("a");
  CHECK(fixture.hub->Overview().workers[0].failure == "no such device");

  fixture.Join("l", Role::kLearner);
  std::string endless = "x";
  while (endless.size() < (size_t{20} << 20)) {
    endless += "\u20ac";  // Three bytes.
  }
  CHECK(fixture.Fail("l", endless) == RunState::kFailed);
  const std::string kept = fixture.hub->Overview().workers[1].failure;
  CHECK(kept.size() == 4096);
  CHECK(kept.substr(kept.size() - 3) == "\u20ac");
  fixture.Restart();
  CHECK(fixture.hub->Overview().run_state == RunState::kFailed);
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

TEST_CASE("Steps and the last evaluation survive the hub and count once", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  fixture.Join("gone", Role::kActor);
  fixture.Join("e", Role::kEvaluator);
  REQUIRE_OK(fixture.Beat("a", 100));
  REQUIRE_OK(fixture.Beat("gone", 300));
  fixture.hub->Leave("gone");
  WorkerReport evaluated = fixture.Report("e");
  evaluated.evaluations = {Dated(10, 1), Dated(20, 2)};
  REQUIRE_OK(fixture.hub->Heartbeat(evaluated));
  fixture.Restart();
  CHECK(fixture.hub->Overview().env_steps == 400);
  fixture.Join("a", Role::kActor);
  fixture.Join("e", Role::kEvaluator);
  REQUIRE_OK(fixture.Beat("a", 150));
  REQUIRE_OK(fixture.hub->Heartbeat(evaluated));  // The earlier answer was lost.
  CHECK(fixture.hub->Overview().env_steps == 450);
  REQUIRE(fixture.hub->Overview().evaluations.size() == 1);
  CHECK(fixture.hub->Overview().evaluations[0].evaluation.mean_return == 20);
  CHECK(ValueOf(fixture.Beat("a", 700)).run_state == RunState::kLimit);
}

TEST_CASE("Steps of an actor that joins late after a restart count once, though the run was saved before", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  fixture.Join("b", Role::kActor);
  REQUIRE_OK(fixture.Beat("a", 100));
  REQUIRE_OK(fixture.Beat("b", 300));
  fixture.Restart();
  fixture.Join("a", Role::kActor);
  REQUIRE_OK(fixture.Beat("a", 150));
  fixture.Restart();  // Saves the report of "a" alone.
  fixture.Join("b", Role::kActor);
  REQUIRE_OK(fixture.Beat("b", 310));
  CHECK(fixture.hub->Overview().env_steps == 460);
}

TEST_CASE("A killed hub loses only the steps of the last seconds", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  const auto saved_steps = [&fixture] { return fixture.state->record().progress.env_steps; };
  REQUIRE_OK(fixture.Beat("a", 100));  // The first step is saved at once, in the background.
  const Deadline deadline(absl::Minutes(5));
  while (saved_steps() != 100 && deadline.Left() > absl::ZeroDuration()) {
    StopToken().WaitFor(absl::Milliseconds(1));
  }
  REQUIRE_OK(fixture.Beat("a", 200));
  fixture.now += absl::Seconds(5);
  REQUIRE_OK(fixture.Beat("a", 300));
  while (saved_steps() != 300 && deadline.Left() > absl::ZeroDuration()) {
    StopToken().WaitFor(absl::Milliseconds(1));
  }
  CHECK(saved_steps() == 300);
}

TEST_CASE("A heartbeat does not wait for the disk", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  // Writing blocks until a reader opens the pipe.
  const std::string path = fixture.folder.File("hub.state.new");
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK(ValueOf(fixture.Beat("a", 1'000)).run_state == RunState::kLimit);  // Must be saved at once.
  REQUIRE_OK(fixture.Beat("a", 1'001));
  std::ifstream(path).get();
  fixture.Restart();  // The destructor saves again.
  CHECK(fixture.hub->Overview().run_state == RunState::kLimit);
}

TEST_CASE("A failed save of a run's end is tried again within seconds, and the overview shows the error", "[unit]") {
  Fixture fixture;
  fixture.Join("a", Role::kActor);
  CHECK(fixture.hub->Overview().progress_unsaved.empty());
  const std::string folder = fixture.folder.path();
  std::filesystem::rename(folder, folder + ".away");
  CHECK(ValueOf(fixture.Beat("a", 1'000)).run_state == RunState::kLimit);
  testing::Eventually("the failure is seen", [&] { return !fixture.hub->Overview().progress_unsaved.empty(); });
  CHECK_THAT(fixture.hub->Overview().progress_unsaved, Catch::Contains(folder));
  std::filesystem::rename(folder + ".away", folder);
  fixture.now += absl::Seconds(1);
  testing::Eventually("it is written down", [&] {
    return fixture.hub->Overview().progress_unsaved.empty() &&
           fixture.state->record().progress.state == RunState::kLimit;
  });
}

TEST_CASE("The overview shows the steps that a learner repeats until it has done them", "[unit]") {
  Fixture fixture;
  const auto steps = [&fixture](const std::string& learner, double count) {
    WorkerReport report = fixture.Report(learner);
    report.figures.counters["learner_steps"] = count;
    REQUIRE_OK(fixture.hub->Heartbeat(report).status());
    return fixture.hub->Overview();
  };
  fixture.Join("first", Role::kLearner);
  CHECK(steps("first", 1'500).learner_steps_again == 0);
  REQUIRE_OK(fixture.models->Publish(testing::MakeModel("x", {1, 1'490})));
  fixture.hub->Dismiss("first", "it was silent");
  CHECK(fixture.hub->Overview().learner_steps_again == 0);  // Not known yet.
  fixture.Join("second", Role::kLearner);
  CHECK(fixture.hub->Overview().learner_steps_again == 0);
  const HubOverview behind = steps("second", 1'100);
  CHECK(behind.learner_steps == 1'500);
  CHECK(behind.learner_steps_again == 400);
  REQUIRE_OK(fixture.models->Publish(testing::MakeModel("x", {2, 1'200})));
  CHECK(fixture.hub->Overview().learner_steps_again == 300);
  const HubOverview through = steps("second", 1'501);
  CHECK(through.learner_steps == 1'501);
  CHECK(through.learner_steps_again == 0);
}

TEST_CASE("The number of items that are lost with a replay server's memory is noted", "[unit]") {
  Fixture fixture;
  std::vector<std::string> notes;
  fixture.note = [&notes](const std::string& text) { notes.push_back(text); };
  fixture.keeps_items = GENERATE(false, true);
  fixture.Restart();
  fixture.Join("r1", Role::kReplayServer, "10.0.0.1:7001");
  WorkerReport report = fixture.Report("r1");
  report.figures.gauges["items"] = 30'112;
  REQUIRE_OK(fixture.hub->Heartbeat(report).status());
  const auto losses = [&notes] {
    return std::count_if(notes.begin(), notes.end(), [](const std::string& note) {
      return note ==
             "the items of replay server 0 are lost, 30112 when it was last heard from: replay.durability: none";
    });
  };
  fixture.Join("r1", Role::kReplayServer, "10.0.0.1:7001");  // It was only cut off.
  CHECK(losses() == 0);
  REQUIRE_OK(fixture.hub->Heartbeat(report).status());
  SECTION("The replay server is dismissed") {
    fixture.hub->Dismiss("r1", "it was silent");
  }
  SECTION("The replay server leaves") {
    fixture.hub->Leave("r1");
  }
  SECTION("Another replay server gets its seat") {
    fixture.hub->SetAway("r1");
    fixture.seats.Order(fixture.hub.get(), "r2", Role::kReplayServer, 0);
  }
  CHECK(losses() == (fixture.keeps_items ? 0 : 1));
}

TEST_CASE("No items are lost with a replay server that leaves a run that is over", "[unit]") {
  Fixture fixture;
  std::vector<std::string> notes;
  fixture.note = [&notes](const std::string& text) { notes.push_back(text); };
  fixture.Restart();
  fixture.Join("r1", Role::kReplayServer, "10.0.0.1:7001");
  WorkerReport report = fixture.Report("r1");
  report.figures.gauges["items"] = 30'112;
  REQUIRE_OK(fixture.hub->Heartbeat(report).status());
  REQUIRE_OK(fixture.hub->End(RunState::kStopped, "by a user"));
  fixture.hub->Leave("r1");
  CHECK(std::none_of(notes.begin(), notes.end(),
                     [](const std::string& note) { return absl::StrContains(note, "are lost"); }));
}

TEST_CASE("Each replay server of a run that goes back to a cut is told once, and no other worker is", "[unit]") {
  Fixture fixture;
  fixture.restoration = Restoration{3, "token"};
  fixture.Restart();
  CHECK(fixture.Join("learner", Role::kLearner).assignment.restoration == std::nullopt);
  CHECK(fixture.Join("first", Role::kReplayServer).assignment.restoration == fixture.restoration);
  CHECK(fixture.Join("second", Role::kReplayServer).assignment.restoration == fixture.restoration);
  // It has started again with the tables of the cut.
  CHECK(fixture.Join("first", Role::kReplayServer, "host:1").assignment.restoration == std::nullopt);
  CHECK(ValueOf(fixture.Beat("second")).restoration == fixture.restoration);
  // It has lost its disk: another server gets its seat, and cannot go back.
  fixture.hub->Dismiss("first", "it was silent");
  CHECK(fixture.Join("third", Role::kReplayServer).assignment.restoration == std::nullopt);
}

TEST_CASE("The overview shows all workers and this process", "[unit]") {
  Fixture fixture;
  fixture.metrics.Add("models_pushed", 3);
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
  CHECK(overview.workers[0].silent == absl::Hours(1));
  CHECK(overview.workers[1].introduction.worker_id == "self");
  CHECK(overview.workers[1].alive);
  CHECK(overview.workers[1].figures->counters.at("models_pushed") == 3);
}

TEST_CASE("An experiment is stored once, and another one is refused", "[unit]") {
  const testing::TemporaryFolder folder;
  const auto state = ValueOf(HubState::Open(folder.path()));
  REQUIRE_OK(state->Adopt("one"));
  REQUIRE_OK(state->Adopt("one"));
  CHECK(state->record().experiment_yaml == "one");
  REQUIRE_CODE(state->Adopt("two"), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("Workers are told settings at once, beside the experiment as it was submitted", "[unit]") {
  testing::HubFixture fixture;
  fixture.Join("a", Role::kActor);
  std::optional<int64_t> seen;
  CHECK(ValueOf(fixture.hub->News("a", &seen))->settings.empty());
  CHECK(fixture.hub->Overview().experiment_yaml == "the experiment");
  fixture.hub->Set({"x=1\n", "the experiment with x"});
  CHECK(ValueOf(fixture.hub->News("a", &seen)).value().settings == "x=1\n");
  CHECK(ValueOf(fixture.Beat("a")).settings == "x=1\n");
  const Assignment later = fixture.Join("b", Role::kActor).assignment;
  CHECK(later.settings == "x=1\n");
  CHECK(later.experiment_yaml == "the experiment");
  CHECK(fixture.hub->Overview().experiment_yaml == "the experiment with x");
  CHECK(fixture.hub->present_yaml() == "the experiment with x");
}

TEST_CASE("workers are told the addresses of reducers and learners at once", "[unit]") {
  testing::HubFixture fixture;
  fixture.Join("a", Role::kActor);
  std::optional<int64_t> seen;
  ValueOf(fixture.hub->News("a", &seen));
  fixture.Join("l", Role::kLearner, "10.0.0.1:1");
  fixture.Join("r", Role::kReducer, "10.0.0.2:2");
  const std::optional<Assignment> news = ValueOf(fixture.hub->News("a", &seen));
  REQUIRE(news.has_value());
  CHECK(news->learners == std::vector<std::string>{"10.0.0.1:1"});
  CHECK(news->reducers == std::vector<std::string>{"10.0.0.2:2"});
  REQUIRE_CODE(fixture.TryJoin({"s", "", 0, {}}, Role::kReducer), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
