#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/base/file.h"
#include "common/base/threads/thread.h"
#include "param_server/run/hub_state.h"
#include "tests/cli/file_contents.h"
#include "tests/param_server/experiments/host_fixture.h"

namespace waggle::testing {
namespace {

TEST_CASE_METHOD(HostFixture, "a stopped experiment goes on from its state when it is resumed", "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders", [&] { return workers.at("actor").held_size() == 1; });
  {
    const std::shared_ptr<RunServices> run = Find(id);
    WorkerArrival actor;
    actor.worker_id = RunWorkerId("actor", workers.at("actor").held(0).order().number());
    REQUIRE_OK(run->hub->Join(actor));
    WorkerReport report;
    report.worker_id = actor.worker_id;
    report.figures.counters["env_steps"] = 321;
    REQUIRE_OK(run->hub->Heartbeat(report));
    run->hub->Leave(actor.worker_id);
  }
  CHECK(absl::IsFailedPrecondition(host->Resume(id)));
  CHECK(absl::IsFailedPrecondition(host->Delete(id)));
  REQUIRE_OK(host->Stop(id));
  CHECK(State(id) == RunState::kStopped);
  EndAll();
  RoundsUntil("the run's end", [&] { return Find(id) == nullptr; });
  CHECK(workers.at("replay").held().empty());
  CHECK(State(id) == RunState::kStopped);
  Eventually("its curves are drawn", [&] { return drawn.load() == 1; });
  const std::string output = ValueOf(host->Get(id)).output_folder() + "/";
  const auto summary = nlohmann::json::parse(Contents(output + "summary.json"));
  CHECK(summary["outcome"] == "stopped");
  CHECK(summary["env_steps"] == 321);
  CHECK(ValueOf(host->Get(id)).env_steps() == 321);
  const v1::OverviewResponse past = ValueOf(host->PastOverview(id));
  CHECK(past.env_steps() == 321);
  CHECK(past.workers_size() == 2);
  for (const v1::WorkerInfo& worker : past.workers()) {  // Also the hub itself.
    CHECK_FALSE(worker.alive());
    CHECK(worker.rates().empty());
  }
  CHECK(ValueOf(host->Get(id)).running_ms() >= past.running_ms());
  CHECK(ValueOf(host->Get(id)).ended_at_us() != 0);

  REQUIRE_OK(host->Resume(id));
  RoundsUntil("orders again", [&] { return workers.at("actor").held_size() == 1; });
  CHECK(State(id) == RunState::kRunning);
  CHECK_FALSE(std::filesystem::exists(output + "summary.json"));
  CHECK(ValueOf(host->Get(id)).env_steps() == 321);
  CHECK(ValueOf(host->Get(id)).attempts() == 2);

  SECTION("a queued experiment is stopped at once") {
    const std::string second = Submit("y");
    REQUIRE_OK(host->Stop(second));
    CHECK(State(second) == RunState::kStopped);
    Round();
    CHECK(Find(second) == nullptr);
  }
}

TEST_CASE_METHOD(HostFixture, "a restarted hub knows its experiments, and workers keep their seats", "[unit]") {
  Start();
  WholeCrew();
  const std::string running = Submit("x");
  RoundsUntil("orders", [&] { return workers.at("actor").held_size() == 1; });
  const std::string queued = Submit("y");
  const std::map<std::string, v1::AttendRequest> before = workers;
  host.reset();
  Start();
  CHECK(State(running) == RunState::kRunning);
  CHECK(State(queued) == RunState::kQueued);
  RoundsUntil("it goes on", [&] { return Find(running) != nullptr; });
  REQUIRE_CODE(host->PastOverview(running).status(), absl::StatusCode::kUnavailable);
  for (int i = 0; i < 3; ++i) {
    Round();
  }
  for (const auto& [worker_id, worker] : before) {
    REQUIRE(workers.at(worker_id).held_size() == 1);
    CHECK(workers.at(worker_id).held(0).order().number() == worker.held(0).order().number());
  }
  RoundsUntil("that it does is told", [&] { return Log(running).find("started again") != std::string::npos; });
}

TEST_CASE_METHOD(HostFixture, "numbers of a running experiment are set, also for later hubs and after a resume",
                 "[unit]") {
  const std::string key = "algorithm.optimizer.learning_rate";
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders", [&] { return workers.at("actor").held_size() == 1; });
  const std::string queued = Submit("y");
  REQUIRE_CODE(host->Set(queued, {{key, "0.5"}}, false).status(), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(host->Set("z", {{key, "0.5"}}, false).status(), absl::StatusCode::kNotFound);
  REQUIRE_CODE(host->Set(id, {}, false).status(), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(host->Set(id, {{"algorithm.n_step", "7"}}, false).status(), absl::StatusCode::kInvalidArgument);

  const auto yaml = [&] { return ValueOf(host->Texts(id)).effective_yaml; };
  const std::string before = yaml();
  CHECK(ValueOf(host->Set(id, {{key, "0.5"}}, /*dry_run=*/true)).at(0).to == "0.5");
  CHECK(yaml() == before);
  REQUIRE(ValueOf(host->Set(id, {{key, "0.5"}}, false)).size() == 1);
  CHECK(ValueOf(host->Set(id, {{key, "0.5"}}, false)).empty());
  CHECK_THAT(yaml(), Catch::Contains("learning_rate: 0.5\n"));
  CHECK(host->TextsOfRunning(id)->effective_yaml == yaml());
  CHECK(Find(id)->hub->Overview().experiment_yaml == yaml());
  CHECK(ValueOf(ReadSmallFile(Output(id) + "experiment.yaml", 1 << 20)) == yaml());
  const std::string told = "set by a user: " + key + " from 0.001 to 0.5\n";
  CHECK_THAT(Log(id), Catch::Contains(told));

  const std::string set = yaml();
  host.reset();
  Start();
  CHECK(yaml() == set);
  RoundsUntil("it goes on", [&] { return Find(id) != nullptr; });
  CHECK(Find(id)->hub->present_yaml() == set);
  CHECK(host->TextsOfRunning(id)->effective_yaml == set);
  REQUIRE_OK(host->Stop(id));
  REQUIRE_CODE(host->Set(id, {{key, "0.25"}}, false).status(), absl::StatusCode::kFailedPrecondition);
  EndAll();
  RoundsUntil("its end", [&] {
    EndAll();
    return IsClosed(id);
  });
  CHECK(yaml() == set);
  REQUIRE_OK(host->Stop(queued));
  REQUIRE_OK(host->Resume(id));
  RoundsUntil("it goes on again", [&] { return Find(id) != nullptr; });
  CHECK(Find(id)->hub->present_yaml() == set);
}

TEST_CASE_METHOD(HostFixture, "an experiment whose folder cannot be made stays in the queue until it can", "[unit]") {
  options.output_pattern = folder.File("out/{id}");
  Start();
  const std::string first = Submit("first");
  const std::string second = Submit("second");

  SECTION("all experiments, if the whole disk is missing") {
    std::ofstream(folder.File("out")) << "no folder";
    WholeCrew();
    for (const std::string& id : {first, second}) {
      RoundsUntil("what it waits for",
                  [&] { return ValueOf(host->Get(id)).reason().find("cannot begin yet") != std::string::npos; });
      CHECK(State(id) == RunState::kQueued);
      CHECK_THAT(ValueOf(host->Get(id)).reason(), Catch::Contains(folder.File("out")));
    }
    Eventually("that it waits is told", [&] { return Log(first).find("cannot begin yet") != std::string::npos; });
    std::filesystem::remove(folder.File("out"));
    RoundsUntil("one begins",
                [&] { return State(first) == RunState::kRunning || State(second) == RunState::kRunning; });
  }
  SECTION("other experiments do not wait for it") {
    std::filesystem::create_directories(folder.File("out"));
    std::ofstream(folder.File("out/" + first)) << "no folder";
    WholeCrew();
    RoundsUntil("the second one", [&] { return State(second) == RunState::kRunning; });
    CHECK(State(first) == RunState::kQueued);
    REQUIRE_OK(host->Stop(first));
    CHECK(State(first) == RunState::kStopped);
    CHECK_THAT(ValueOf(host->Get(first)).reason(), Catch::Contains("by a user"));
  }
}

TEST_CASE_METHOD(HostFixture, "an experiment with damaged data fails when it begins", "[unit]") {
  Start();
  const std::string id = Submit("x");
  const std::string hub_folder = folder.File("hub/experiments/" + id + "/hub");
  std::filesystem::create_directories(hub_folder);
  std::ofstream(hub_folder + "/hub.state") << "nothing";
  WholeCrew();
  RoundsUntil("its end", [&] { return IsOver(State(id)); });
  CHECK(State(id) == RunState::kFailed);
  CHECK_THAT(ValueOf(host->Get(id)).reason(), Catch::Contains("damaged"));
}

TEST_CASE_METHOD(HostFixture, "a run that a restarted hub cannot open goes on later with its workers and tables",
                 "[unit]") {
  Start();
  WholeCrew();
  workers.at("replay").set_storage_id("disk");
  const std::string id = Submit("x");
  RoundsUntil("orders",
              [&] { return workers.at("actor").held_size() == 1 && workers.at("evaluator").held_size() == 1; });
  workers.at("replay").add_kept(id);
  const std::map<std::string, v1::AttendRequest> before = workers;
  const auto all_hold = [&] {
    return std::all_of(before.begin(), before.end(), [&](const auto& one) {
      const auto& held = workers.at(one.first).held();
      return held.size() == 1 && held[0].order().number() == one.second.held(0).order().number();
    });
  };
  host.reset();
  // As an earlier hub on another machine that has not ended yet.
  std::unique_ptr<HubState> other = ValueOf(HubState::Open(folder.File("hub/experiments/" + id + "/hub")));
  REQUIRE_OK(other->Update([](HubRecord* record) { record->progress.env_steps = 500; }));
  Start();
  for (int i = 0; i < 3; ++i) {
    Round();
    CHECK(discarded.at("replay").empty());
  }
  CHECK(all_hold());
  CHECK(State(id) == RunState::kRunning);
  RoundsUntil("why it cannot go on",
              [&] { return ValueOf(host->Get(id)).reason().find("cannot go on yet") != std::string::npos; });
  CHECK(host->List({}).experiments_size() == 1);
  CHECK(ValueOf(host->Get(id)).env_steps() == 500);
  CHECK(Find(id) == nullptr);
  CHECK(ValueOf(host->PastOverview(id)).run_state() == v1::RUN_STATE_RUNNING);
  CHECK(absl::IsFailedPrecondition(host->Resume(id)));
  CHECK(absl::IsFailedPrecondition(host->Delete(id)));

  SECTION("with its workers") {
    Worker("actor-b", WorkerKind::kActor);
    other.reset();
    RoundsUntil("the run", [&] { return Find(id) != nullptr; });
    REQUIRE_CODE(host->PastOverview(id).status(), absl::StatusCode::kUnavailable);
    RoundsUntil("all workers", [&] { return ValueOf(host->Get(id)).workers() >= 4; });
    CHECK(all_hold());
    CHECK(discarded.at("replay").empty());
  }
  SECTION("it can be stopped, and resumed") {
    REQUIRE_OK(host->Stop(id));
    CHECK(State(id) == RunState::kStopped);
    RoundsUntil("its end", [&] { return workers.at("actor").held().empty(); });
    CHECK(discarded.at("replay") == std::vector<std::string>{id});
    workers.at("replay").clear_kept();
    other.reset();
    REQUIRE_OK(host->Resume(id));
    RoundsUntil("orders again", [&] { return workers.at("actor").held_size() == 1; });
    CHECK(ValueOf(host->Get(id)).attempts() == 2);
  }
}

TEST_CASE_METHOD(HostFixture, "a run that a call still holds is saved before its experiment is deleted", "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders", [&] { return workers.at("actor").held_size() == 1; });
  std::shared_ptr<RunServices> call = Find(id);
  REQUIRE_OK(host->Stop(id));
  EndAll();
  RoundsUntil("the run's end", [&] { return Find(id) == nullptr; });
  absl::Status deleted = absl::UnknownError("");
  {
    const Thread deleting("deleting", [&] { deleted = host->Delete(id); });
    Round();
    CHECK(host->List({}).experiments_size() == 1);  // The call delays it.
    call.reset();
  }
  REQUIRE_OK(deleted);
  CHECK_FALSE(std::filesystem::exists(folder.File("hub/experiments/" + id)));
}

TEST_CASE_METHOD(HostFixture, "a hub that stops does not wait for a run to close", "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders", [&] { return workers.at("actor").held_size() == 1; });
  REQUIRE_OK(host->Stop(id));  // Its workers do not end.
  absl::Status deleted;
  absl::Status resumed;
  {
    const Thread deleting("deleting", [&] { deleted = host->Delete(id); });
    const Thread resuming("resuming", [&] { resumed = host->Resume(id); });
    host->BeginStop();
  }
  CHECK(absl::IsUnavailable(deleted));
  CHECK(absl::IsUnavailable(resumed));
  CHECK(absl::IsUnavailable(host->Delete(id)));
}

TEST_CASE_METHOD(HostFixture, "an acknowledged stop of an experiment is on the disk", "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders", [&] { return workers.at("actor").held_size() == 1; });
  REQUIRE_OK(host->Stop(id));
  const std::string state = ValueOf(ReadSmallFile(folder.File("hub/experiments/" + id + "/hub/hub.state"), 1 << 20));
  CHECK(ValueOf(DecodeHubRecord(state)).progress.state == RunState::kStopped);
}

TEST_CASE_METHOD(HostFixture, "a run that is slow to open delays neither the pool nor other experiments", "[unit]") {
  Start();
  const std::string id = Submit("x");
  StuckRead stuck(HubFolder(id) + "/hub.state");
  WholeCrew();
  RoundsUntil("its files are read", [&] { return stuck.HasReader(); });
  Round();
  CHECK(workers.at("actor").held().empty());
  CHECK(State(id) == RunState::kQueued);
  CHECK_THAT(ValueOf(host->Get(id)).reason(), Catch::Contains("being opened"));
  // Its workers are reserved.
  const std::string second = Submit("second");
  CHECK_THAT(ValueOf(host->Get(second)).reason(),
             Catch::Equals("waits for 1 learner, 1 actor for CartPole-v1, busy with others"));
  OthersGoOn();

  const std::string fresh = EncodeHubRecord(HubRecord());
  SECTION("it begins once its files are open") {
    stuck.LetGo(fresh);
    RoundsUntil("orders", [&] { return workers.at("actor").held_size() == 1; });
    CHECK(State(id) == RunState::kRunning);
  }
  SECTION("if it is stopped meanwhile it does not begin, and is deleted once its files are closed") {
    REQUIRE_OK(host->Stop(second));
    REQUIRE_OK(host->Stop(id));
    CHECK(State(id) == RunState::kStopped);
    absl::Status deleted = absl::UnknownError("");
    {
      const Thread deleting("deleting", [&] { deleted = host->Delete(id); });
      Round();
      CHECK(State(id) == RunState::kStopped);
      stuck.LetGo(fresh);
    }
    REQUIRE_OK(deleted);
    CHECK_FALSE(std::filesystem::exists(HubFolder(id)));
    Round();
    CHECK(workers.at("actor").held().empty());
  }
  SECTION("if it is stopped meanwhile it is resumed once its files are closed") {
    REQUIRE_OK(host->Stop(second));
    REQUIRE_OK(host->Stop(id));
    stuck.LetGo(fresh);
    REQUIRE_OK(host->Resume(id));
    RoundsUntil("orders", [&] { return workers.at("actor").held_size() == 1; });
    CHECK(ValueOf(host->Get(id)).attempts() == 1);
  }
  SECTION("a hub that stops meanwhile opens it the next time") {
    const Thread stopping("stopping", [&] { host.reset(); });
    stuck.LetGo(fresh);
  }
}

TEST_CASE_METHOD(HostFixture, "runs that are slow to open do not delay a restarted hub", "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders",
              [&] { return workers.at("actor").held_size() == 1 && workers.at("evaluator").held_size() == 1; });
  const std::map<std::string, v1::AttendRequest> before = workers;
  host.reset();
  const std::string state = HubFolder(id) + "/hub.state";
  const std::string kept = Contents(state);
  std::filesystem::remove(state);
  StuckRead stuck(state);
  {
    absl::Notification started;
    const Thread starting("starting", [&] {
      Start();
      started.Notify();
    });
    const bool soon = started.WaitForNotificationWithTimeout(absl::Seconds(20));
    if (!soon) {
      stuck.LetGo(kept);
    }
    CHECK(soon);
  }
  Eventually("its files are read", [&] { return stuck.HasReader(); });
  CHECK(State(id) == RunState::kRunning);
  CHECK(absl::IsUnavailable(host->Find(id).status()));
  OthersGoOn();
  Round();
  for (const auto& [worker_id, worker] : before) {  // They wait for it, and are not given to others.
    REQUIRE(workers.at(worker_id).held_size() == 1);
    CHECK(workers.at(worker_id).held(0).order().number() == worker.held(0).order().number());
  }
  stuck.LetGo(kept);
  RoundsUntil("it goes on", [&] { return Find(id) != nullptr; });
  RoundsUntil("all workers", [&] { return ValueOf(host->Get(id)).workers() >= 4; });
}

TEST_CASE_METHOD(HostFixture, "the last save of a run delays neither the pool nor other experiments", "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders",
              [&] { return workers.at("actor").held_size() == 1 && workers.at("evaluator").held_size() == 1; });
  WorkerReport report;
  {
    WorkerArrival actor;
    actor.worker_id = report.worker_id = RunWorkerId("actor", workers.at("actor").held(0).order().number());
    REQUIRE_OK(Find(id)->hub->Join(actor));
  }
  REQUIRE_OK(host->Stop(id));
  StuckWrite stuck(HubFolder(id) + "/hub.state.new");
  report.figures.counters["env_steps"] = 17;
  REQUIRE_OK(Find(id)->hub->Heartbeat(report));
  Find(id)->hub->Leave(report.worker_id);
  EndAll();
  Round();
  OthersGoOn();
  absl::Status deleted = absl::UnknownError("");
  {
    const Thread deleting("deleting", [&] { deleted = host->Delete(id); });
    Round();
    CHECK(State(id) == RunState::kStopped);  // Its last steps are being written.
    stuck.LetGo();
  }
  REQUIRE_OK(deleted);
}

TEST_CASE_METHOD(HostFixture, "a stop of an experiment delays no other experiment", "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders", [&] { return workers.at("actor").held_size() == 1; });
  absl::Status stopped = absl::UnknownError("");
  absl::Notification others;
  {
    std::optional<Thread> stopping;
    std::optional<Thread> going_on;
    StuckWrite stuck(HubFolder(id) + "/hub.state.new");
    stopping.emplace("stopping", [&] { stopped = host->Stop(id); });
    Eventually("it is over", [&] { return IsOver(State(id)); });
    going_on.emplace("others", [&] {
      const std::string other = ValueOf(host->Submit({Yaml("other"), Yaml("other"), 0, ""})).front();
      if (host->Stop(other).ok() && host->Delete(other).ok()) {
        others.Notify();
      }
    });
    REQUIRE(others.WaitForNotificationWithTimeout(absl::Minutes(1)));
    Round();
  }
  CHECK_THAT(std::string(stopped.message()), Catch::Contains("would go on"));  // A pipe cannot be synced.
}

}  // namespace
}  // namespace waggle::testing
