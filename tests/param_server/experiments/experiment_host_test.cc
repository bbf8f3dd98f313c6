#include "param_server/experiments/experiment_host.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/base/atomic_file.h"
#include "common/base/thread.h"
#include "common/rl/algorithms/definitions.h"
#include "param_server/workers/hub_state.h"
#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {
namespace {

std::string Yaml(const std::string& name, const std::string& more = "") {
  return absl::StrCat("experiment: {name: ", name, "}\nenvironment: {name: CartPole-v1}\n",
                      "algorithm: {name: apex_dqn}\nstop: {max_learner_steps: 1000}\n", more);
}

// A file on a disk that does not answer: a named pipe. One who reads it waits.
class StuckRead {
 public:
  explicit StuckRead(std::string path) : path_(std::move(path)) {
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
    REQUIRE(mkfifo(path_.c_str(), 0600) == 0);
  }
  ~StuckRead() { LetGo(""); }

  // Whether somebody has begun to read it.
  bool HasReader() {
    writer_ = writer_ < 0 ? open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC) : writer_;
    return writer_ >= 0;
  }
  // It holds this, and nothing keeps its reader waiting any more.
  void LetGo(const std::string& text) {
    if (HasReader()) {
      CHECK(write(writer_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
      close(std::exchange(writer_, -1));
    }
    unlink(path_.c_str());
  }

 private:
  const std::string path_;
  int writer_ = -1;
};

// The same for one who writes it, which fails in the end.
class StuckWrite {
 public:
  explicit StuckWrite(std::string path) : path_(std::move(path)) { REQUIRE(mkfifo(path_.c_str(), 0600) == 0); }
  ~StuckWrite() { LetGo(); }

  void LetGo() {
    // It stays open: a pipe without a reader would end this process.
    const int reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    CHECK((reader >= 0 || errno == ENOENT));
    unlink(path_.c_str());
  }

 private:
  const std::string path_;
};

// A host, and processes of its pool that do as they are told: none of them works, each says so.
class HostFixture {
 public:
  HostFixture() {
    options.data_folder = folder.File("hub");
    options.self.worker_id = "hub";
    options.self.role = Role::kParamServer;
    options.algorithms = &algorithms;
    options.answer_after = absl::Milliseconds(20);
    options.draw_curves = [this](const std::string& run_folder, const std::string& log) {
      drawn += std::filesystem::exists(run_folder + "/summary.json") && !log.empty() ? 1 : 0;
    };
    options.pool.broken_off_after = absl::Milliseconds(50);
    options.pool.rejoin_time = absl::Milliseconds(100);
    options.pool.first_retry = absl::Milliseconds(1);
  }
  void Start() { host = ValueOf(ExperimentHost::Open(options)); }
  std::string Submit(const std::string& name, const std::string& more = "", int64_t priority = 0) {
    const std::string yaml = Yaml(name, more);
    return ValueOf(host->Submit({yaml, yaml, priority, ""}));
  }

  Attendance& Worker(const std::string& worker_id, WorkerKind kind) {
    Attendance& worker = workers[worker_id];
    worker.worker_id = worker_id;
    worker.kind = kind;
    worker.address = "10.0.0.1:7001";
    worker.resources.environments = {"CartPole-v1"};
    worker.capacity = kind == WorkerKind::kReplayServer || kind == WorkerKind::kEvaluator ? 8 : 1;
    return worker;
  }
  void WholeCrew() {
    Worker("replay", WorkerKind::kReplayServer);
    Worker("learner", WorkerKind::kLearner);
    Worker("actor", WorkerKind::kActor);
    Worker("evaluator", WorkerKind::kEvaluator);
  }
  absl::StatusOr<PoolAnswer> Attend(const Attendance& attendance) {
    const auto answered = std::make_shared<absl::Notification>();
    const auto answer = std::make_shared<absl::StatusOr<PoolAnswer>>(absl::UnknownError(""));
    host->Attend(attendance, [answered, answer](absl::StatusOr<PoolAnswer> value) {
      *answer = std::move(value);
      answered->Notify();
    });
    REQUIRE(answered->WaitForNotificationWithTimeout(absl::Minutes(1)));
    return *answer;
  }
  // All attend once, and hold what they are told to.
  void Round() {
    for (auto& [worker_id, worker] : workers) {
      const PoolAnswer answer = ValueOf(Attend(worker));
      worker.held.clear();
      for (const WorkOrder& order : answer.orders) {
        worker.held.push_back({order, false, ""});
      }
      discarded[worker_id] = answer.discarded;
    }
  }
  void EndAll() {
    for (auto& [worker_id, worker] : workers) {
      for (HeldOrder& held : worker.held) {
        held.ended = true;
      }
    }
  }
  RunState State(const std::string& id) { return ValueOf(host->Get(id)).record.state; }
  void RoundsUntil(const std::string& what, const std::function<bool()>& condition) {
    Eventually(what, [&] {
      Round();
      return condition();
    });
  }
  // Experiments that have nothing to do with what the host is busy with come and go.
  void OthersGoOn() {
    const std::string id = Submit("other");
    REQUIRE_OK(host->Stop(id));
    REQUIRE_OK(host->Resume(id));
    REQUIRE_OK(host->Stop(id));
    REQUIRE_OK(host->Delete(id));
  }
  std::string HubFolder(const std::string& id) { return folder.File("hub/experiments/" + id + "/hub"); }
  std::string Log(const std::string& id) {
    std::string log;
    for (const ExperimentEvent& event : ValueOf(host->Events(id, 0))) {
      absl::StrAppend(&log, event.text, "\n");
    }
    return log;
  }

  const TemporaryFolder folder;
  const AlgorithmDefinitions algorithms = BuiltinAlgorithmDefinitions();
  ExperimentHostOptions options;
  std::atomic<int> drawn{0};  // Runs whose curves were to be drawn, and that had left their summary.
  std::unique_ptr<ExperimentHost> host;
  std::map<std::string, Attendance> workers;
  std::map<std::string, std::vector<std::string>> discarded;
};

TEST_CASE_METHOD(HostFixture, "an experiment waits in the queue until there are workers for it, and then runs",
                 "[unit]") {
  Start();
  const std::string id = Submit("cart.pole");
  CHECK_THAT(id, Catch::StartsWith("cart-pole-"));
  Eventually("why it waits", [&] { return !ValueOf(host->Get(id)).record.reason.empty(); });
  CHECK(State(id) == RunState::kQueued);
  CHECK_THAT(ValueOf(host->Get(id)).record.reason, Catch::Contains("1 learner"));
  CHECK(host->Find(id) == nullptr);
  CHECK(ValueOf(host->PastOverview(id)).run_state() == v1::RUN_STATE_QUEUED);

  WholeCrew();
  RoundsUntil("orders for all",
              [&] { return workers.at("learner").held.size() == 1 && workers.at("evaluator").held.size() == 1; });
  CHECK(State(id) == RunState::kRunning);
  const WorkOrder order = workers.at("learner").held[0].order;
  CHECK(order.experiment_id == id);
  CHECK(order.role == Role::kLearner);
  CHECK(Contents(order.output_folder + "/experiment.yaml") == ValueOf(host->Texts(id)).effective_yaml);
  REQUIRE(host->Find(id) != nullptr);
  CHECK(host->Find("")->experiment_id == id);  // The only one.
  CHECK(host->Find(id)->hub->run_state() == RunState::kRunning);
  CHECK(ValueOf(host->Get(id)).workers == 4);
  CHECK(host->Members().size() == 4);
  Eventually("what has happened", [&] { return Log(id).find("evaluator 0 of") != std::string::npos; });
}

TEST_CASE_METHOD(HostFixture, "what cannot be an experiment is refused, and a submission that comes twice is one",
                 "[unit]") {
  Start();
  const auto submit = [this](const std::string& yaml, const std::string& request = "") {
    return host->Submit({yaml, yaml, 0, request});
  };
  const absl::Status refused = submit("algorithm: {name: apex_dqm}\nstop: {max_env_steps: 1}\n").status();
  CHECK(absl::IsInvalidArgument(refused));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("apex_dqn"));
  CHECK(absl::IsInvalidArgument(submit("{").status()));
  CHECK(absl::IsInvalidArgument(submit(std::string(size_t{2} << 20, ' ')).status()));
  CHECK(absl::IsInvalidArgument(host->Submit({Yaml("x"), Yaml("x"), int64_t{1} << 40, ""}).status()));
  CHECK(host->List({}).views.empty());

  const std::string first = ValueOf(submit(Yaml("x"), "request-1"));
  CHECK(ValueOf(submit(Yaml("x"), "request-1")) == first);
  CHECK(ValueOf(submit(Yaml("x"), "request-2")) != first);
  CHECK(host->List({}).views.size() == 2);
  CHECK(absl::IsNotFound(host->Get("nothing").status()));
  CHECK(absl::IsNotFound(host->Stop("nothing")));
  CHECK(absl::IsNotFound(host->Resume("nothing")));
  CHECK(absl::IsNotFound(host->Delete("nothing")));
  CHECK(absl::IsNotFound(host->Events("nothing", 0).status()));
  CHECK(absl::IsNotFound(host->PastOverview("nothing").status()));
  CHECK(absl::IsFailedPrecondition(host->PastOverview("").status()));  // There are two.
}

TEST_CASE_METHOD(HostFixture, "an experiment that is stopped goes on where it was when it is resumed", "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders", [&] { return workers.at("actor").held.size() == 1; });
  {
    const std::shared_ptr<RunServices> run = host->Find(id);
    WorkerIntroduction actor;
    actor.worker_id = RunWorkerId("actor", workers.at("actor").held[0].order.number);
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
  RoundsUntil("the run's end", [&] { return host->Find(id) == nullptr; });
  CHECK(workers.at("replay").held.empty());
  CHECK(State(id) == RunState::kStopped);
  Eventually("its curves are to be drawn", [&] { return drawn.load() == 1; });
  const std::string output = ValueOf(host->Get(id)).record.output_folder + "/";
  const auto summary = nlohmann::json::parse(Contents(output + "summary.json"));
  CHECK(summary["outcome"] == "stopped");
  CHECK(summary["env_steps"] == 321);
  CHECK(ValueOf(host->Get(id)).env_steps == 321);
  const v1::OverviewResponse past = ValueOf(host->PastOverview(id));
  CHECK(past.env_steps() == 321);
  CHECK(past.workers_size() == 2);
  for (const v1::WorkerInfo& worker : past.workers()) {  // The hub itself, too.
    CHECK_FALSE(worker.alive());
    CHECK(worker.rates().empty());
  }
  CHECK(ValueOf(host->Get(id)).running >= absl::Milliseconds(past.running_ms()));
  CHECK(ValueOf(host->Get(id)).record.ended.has_value());

  REQUIRE_OK(host->Resume(id));
  RoundsUntil("orders again", [&] { return workers.at("actor").held.size() == 1; });
  CHECK(State(id) == RunState::kRunning);
  CHECK_FALSE(std::filesystem::exists(output + "summary.json"));
  CHECK(ValueOf(host->Get(id)).env_steps == 321);
  CHECK(ValueOf(host->Get(id)).record.attempts == 2);

  SECTION("one that waits is stopped at once") {
    const std::string second = Submit("y");
    REQUIRE_OK(host->Stop(second));
    CHECK(State(second) == RunState::kStopped);
    Round();
    CHECK(host->Find(second) == nullptr);
  }
}

TEST_CASE_METHOD(HostFixture, "an experiment that is resumed at once begins when its old tables have been dropped",
                 "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders",
              [&] { return workers.at("actor").held.size() == 1 && workers.at("evaluator").held.size() == 1; });
  workers.at("replay").kept = {id};
  Round();
  CHECK(discarded.at("replay").empty());
  REQUIRE_OK(host->Stop(id));
  EndAll();
  const Attendance replay = workers.at("replay");
  workers.erase("replay");  // It is not told that the experiment is over.
  RoundsUntil("the run's end", [&] { return host->Find(id) == nullptr; });
  REQUIRE_OK(host->Resume(id));
  workers["replay"] = replay;
  for (int i = 0; i < 3; ++i) {
    Round();
    CHECK(discarded.at("replay") == std::vector<std::string>{id});
    CHECK(State(id) == RunState::kQueued);
  }
  CHECK_THAT(ValueOf(host->Get(id)).record.reason, Catch::Contains("old tables"));
  workers.at("replay").kept.clear();
  RoundsUntil("orders again", [&] { return workers.at("actor").held.size() == 1; });
  workers.at("replay").kept = {id};
  Round();
  CHECK(discarded.at("replay").empty());
}

TEST_CASE_METHOD(HostFixture, "a hub that is started again knows its experiments, and workers keep their seats",
                 "[unit]") {
  Start();
  WholeCrew();
  const std::string running = Submit("x");
  RoundsUntil("orders", [&] { return workers.at("actor").held.size() == 1; });
  const std::string queued = Submit("y");
  const std::map<std::string, Attendance> before = workers;
  host.reset();
  Start();
  CHECK(State(running) == RunState::kRunning);
  CHECK(State(queued) == RunState::kQueued);
  REQUIRE(host->Find(running) != nullptr);
  for (int i = 0; i < 3; ++i) {
    Round();
  }
  for (const auto& [worker_id, worker] : before) {
    REQUIRE(workers.at(worker_id).held.size() == 1);
    CHECK(workers.at(worker_id).held[0].order == worker.held[0].order);
  }
  CHECK_THAT(Log(running), Catch::Contains("started again"));
}

TEST_CASE_METHOD(HostFixture, "an experiment whose folder cannot be made stays in the queue until it can", "[unit]") {
  options.output_pattern = folder.File("out/{id}");
  Start();
  const std::string first = Submit("first");
  const std::string second = Submit("second");

  SECTION("all of them, where it is the whole disk that is missing") {
    std::ofstream(folder.File("out")) << "no folder";
    WholeCrew();
    for (const std::string& id : {first, second}) {
      RoundsUntil("what it waits for",
                  [&] { return ValueOf(host->Get(id)).record.reason.find("cannot begin yet") != std::string::npos; });
      CHECK(State(id) == RunState::kQueued);
      CHECK_THAT(ValueOf(host->Get(id)).record.reason, Catch::Contains(folder.File("out")));
    }
    Eventually("that it waits is told", [&] { return Log(first).find("cannot begin yet") != std::string::npos; });
    std::filesystem::remove(folder.File("out"));
    RoundsUntil("one begins",
                [&] { return State(first) == RunState::kRunning || State(second) == RunState::kRunning; });
  }
  SECTION("others do not wait for it") {
    std::filesystem::create_directories(folder.File("out"));
    std::ofstream(folder.File("out/" + first)) << "no folder";
    WholeCrew();
    RoundsUntil("the second one", [&] { return State(second) == RunState::kRunning; });
    CHECK(State(first) == RunState::kQueued);
    REQUIRE_OK(host->Stop(first));
    CHECK(State(first) == RunState::kStopped);
    CHECK_THAT(ValueOf(host->Get(first)).record.reason, Catch::Contains("by a user"));
  }
}

TEST_CASE_METHOD(HostFixture, "what was kept of an experiment and is damaged makes it fail when it begins", "[unit]") {
  Start();
  const std::string id = Submit("x");
  const std::string hub_folder = folder.File("hub/experiments/" + id + "/hub");
  std::filesystem::create_directories(hub_folder);
  std::ofstream(hub_folder + "/hub.state") << "nothing";
  WholeCrew();
  RoundsUntil("its end", [&] { return IsOver(State(id)); });
  CHECK(State(id) == RunState::kFailed);
  CHECK_THAT(ValueOf(host->Get(id)).record.reason, Catch::Contains("damaged"));
}

TEST_CASE_METHOD(HostFixture,
                 "a run that a hub cannot open again yet goes on when it can, and keeps workers and tables", "[unit]") {
  Start();
  WholeCrew();
  workers.at("replay").storage_id = "disk";
  const std::string id = Submit("x");
  RoundsUntil("orders",
              [&] { return workers.at("actor").held.size() == 1 && workers.at("evaluator").held.size() == 1; });
  workers.at("replay").kept = {id};
  const std::map<std::string, Attendance> before = workers;
  const auto all_hold = [&] {
    return std::all_of(before.begin(), before.end(), [&](const auto& one) {
      const std::vector<HeldOrder>& held = workers.at(one.first).held;
      return held.size() == 1 && held[0].order == one.second.held[0].order;
    });
  };
  host.reset();
  // As the hub before it does, on another machine, that has not ended yet.
  std::unique_ptr<HubState> other = ValueOf(HubState::Open(folder.File("hub/experiments/" + id + "/hub")));
  Start();
  for (int i = 0; i < 3; ++i) {
    Round();
    CHECK(discarded.at("replay").empty());
  }
  CHECK(all_hold());
  CHECK(State(id) == RunState::kRunning);
  CHECK_THAT(ValueOf(host->Get(id)).record.reason, Catch::Contains("cannot go on yet"));
  CHECK(host->List({}).views.size() == 1);
  CHECK(host->Find(id) == nullptr);
  CHECK(ValueOf(host->PastOverview(id)).run_state() == v1::RUN_STATE_RUNNING);
  CHECK(absl::IsFailedPrecondition(host->Resume(id)));
  CHECK(absl::IsFailedPrecondition(host->Delete(id)));

  SECTION("with those who work for it") {
    Worker("actor-b", WorkerKind::kActor);
    other.reset();
    RoundsUntil("the run", [&] { return host->Find(id) != nullptr; });
    RoundsUntil("all workers", [&] { return ValueOf(host->Get(id)).workers >= 4; });
    CHECK(all_hold());
    CHECK(discarded.at("replay").empty());
  }
  SECTION("it can be stopped, and resumed") {
    REQUIRE_OK(host->Stop(id));
    CHECK(State(id) == RunState::kStopped);
    RoundsUntil("its end", [&] { return workers.at("actor").held.empty(); });
    CHECK(discarded.at("replay") == std::vector<std::string>{id});
    workers.at("replay").kept.clear();
    other.reset();
    REQUIRE_OK(host->Resume(id));
    RoundsUntil("orders again", [&] { return workers.at("actor").held.size() == 1; });
    CHECK(ValueOf(host->Get(id)).record.attempts == 2);
  }
}

TEST_CASE_METHOD(HostFixture, "an experiment that is deleted leaves nothing behind", "[unit]") {
  options.output_pattern = folder.File("out/{id}");
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders", [&] { return workers.at("actor").held.size() == 1; });
  workers.at("replay").kept = {id, "of-another-hub"};
  Round();
  CHECK(discarded.at("replay").empty());
  Worker("another", WorkerKind::kReplayServer).kept = {id};
  Round();
  CHECK(discarded.at("another") == std::vector<std::string>{id});  // Of a seat that it has lost.
  workers.erase("another");
  REQUIRE_OK(host->Stop(id));
  EndAll();
  RoundsUntil("the run's end", [&] { return host->Find(id) == nullptr; });
  Round();
  CHECK(discarded.at("replay") == std::vector<std::string>{id});
  CHECK(std::filesystem::exists(folder.File("out/" + id)));
  REQUIRE_OK(host->Delete(id));
  CHECK_FALSE(std::filesystem::exists(folder.File("out/" + id)));
  CHECK_FALSE(std::filesystem::exists(folder.File("hub/experiments/" + id)));
  CHECK(host->List({}).views.empty());
  CHECK(absl::IsNotFound(host->Delete(id)));
  host.reset();
  Start();  // A replay server that was away hears of it from the next hub too.
  Round();
  CHECK(discarded.at("replay") == std::vector<std::string>{id});
}

TEST_CASE_METHOD(HostFixture, "a run that a call still holds is written before its experiment is deleted", "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders", [&] { return workers.at("actor").held.size() == 1; });
  std::shared_ptr<RunServices> call = host->Find(id);
  REQUIRE_OK(host->Stop(id));
  EndAll();
  RoundsUntil("the run's end", [&] { return host->Find(id) == nullptr; });
  absl::Status deleted = absl::UnknownError("");
  {
    const Thread deleting("deleting", [&] { deleted = host->Delete(id); });
    Round();
    CHECK(host->List({}).views.size() == 1);  // The call holds it up.
    call.reset();
  }
  REQUIRE_OK(deleted);
  CHECK_FALSE(std::filesystem::exists(folder.File("hub/experiments/" + id)));
}

TEST_CASE_METHOD(HostFixture, "a hub that stops does not wait for a run to close", "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders", [&] { return workers.at("actor").held.size() == 1; });
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

TEST_CASE_METHOD(HostFixture, "that an experiment was stopped is on the disk when that is acknowledged", "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders", [&] { return workers.at("actor").held.size() == 1; });
  REQUIRE_OK(host->Stop(id));
  const std::string state = ValueOf(ReadSmallFile(folder.File("hub/experiments/" + id + "/hub/hub.state"), 1 << 20));
  CHECK(ValueOf(DecodeHubRecord(state)).progress.state == RunState::kStopped);
}

TEST_CASE_METHOD(HostFixture, "experiments that would share one folder are refused", "[unit]") {
  options.output_pattern = folder.File("out");
  Start();
  const std::string id = Submit("x");
  const absl::Status second = host->Submit({Yaml("y"), Yaml("y"), 0, ""}).status();
  CHECK(absl::IsFailedPrecondition(second));
  CHECK_THAT(std::string(second.message()), Catch::Contains(id) && Catch::Contains("{id}"));
}

TEST_CASE_METHOD(HostFixture, "experiments come in the order of their priorities, one that lacks workers aside",
                 "[unit]") {
  Start();
  const std::string first = Submit("first");
  const std::string large = Submit("large", "learner: {processes: 5}\n", /*priority=*/9);
  const std::string urgent = Submit("urgent", "", /*priority=*/1);
  WholeCrew();
  RoundsUntil("the urgent one", [&] { return State(urgent) == RunState::kRunning; });
  CHECK(State(first) == RunState::kQueued);
  CHECK_THAT(ValueOf(host->Get(large)).record.reason, Catch::Contains("4 learners"));
  RoundsUntil("what the first one waits for",
              [&] { return ValueOf(host->Get(first)).record.reason.find("1 learner") != std::string::npos; });
  REQUIRE_OK(host->Stop(urgent));
  RoundsUntil("the first one", [&] {
    EndAll();
    return State(first) == RunState::kRunning;
  });
  CHECK(State(large) == RunState::kQueued);
}

TEST_CASE_METHOD(HostFixture, "a worker that is lost is dismissed, and another goes on with its work", "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders", [&] { return workers.at("learner").held.size() == 1; });
  WorkerIntroduction learner;
  learner.role = Role::kLearner;
  learner.worker_id = RunWorkerId("learner", workers.at("learner").held[0].order.number);
  learner.own_index = 0;
  const uint64_t epoch = ValueOf(host->Find(id)->hub->Join(learner)).epoch;

  // Its process is killed: its call ends.
  const uint64_t call = host->Attend(workers.at("learner"), [](const absl::StatusOr<PoolAnswer>&) {});
  host->BreakOff(call);
  workers.erase("learner");
  Worker("learner-b", WorkerKind::kLearner);
  RoundsUntil("the other learner", [&] { return workers.at("learner-b").held.size() == 1; });
  WorkerIntroduction second = learner;
  second.worker_id = RunWorkerId("learner-b", workers.at("learner-b").held[0].order.number);
  CHECK(ValueOf(host->Find(id)->hub->Join(second)).epoch > epoch);
  WorkerReport zombie;
  zombie.worker_id = learner.worker_id;
  CHECK(absl::IsAlreadyExists(host->Find(id)->hub->Heartbeat(zombie).status()));
  CHECK(absl::IsAlreadyExists(host->Find(id)->hub->Join(learner).status()));
}

TEST_CASE_METHOD(HostFixture, "the last steps of an actor that is given up for another experiment count", "[unit]") {
  options.pool.rejoin_time = absl::ZeroDuration();
  Start();
  WholeCrew();
  Worker("actor-b", WorkerKind::kActor);
  Worker("learner-b", WorkerKind::kLearner);
  const std::string first = Submit("first", "actor: {processes: {min: 1, max: 2}}\n");
  RoundsUntil("orders", [&] { return workers.at("actor").held.size() == 1 && workers.at("actor-b").held.size() == 1; });
  std::map<std::string, WorkerReport> reports;
  for (const std::string worker_id : {"actor", "actor-b"}) {
    WorkerIntroduction actor;
    actor.worker_id = RunWorkerId(worker_id, workers.at(worker_id).held[0].order.number);
    REQUIRE_OK(host->Find(first)->hub->Join(actor));
    reports[worker_id].worker_id = actor.worker_id;
  }
  const std::map<std::string, Attendance> before = workers;
  const std::string second = Submit("second");
  std::string recalled;
  RoundsUntil("an actor is given up", [&] {
    for (const auto& [worker_id, report] : reports) {
      const std::vector<HeldOrder>& told = workers.at(worker_id).held;
      recalled = told.empty() || told[0].order.experiment_id != first ? worker_id : recalled;
      workers.at(worker_id).held = before.at(worker_id).held;  // Both still work.
    }
    return !recalled.empty();
  });
  reports.at(recalled).figures.counters["env_steps"] = 17;
  REQUIRE_OK(host->Find(first)->hub->Heartbeat(reports.at(recalled)));
  CHECK(ValueOf(host->Get(first)).env_steps == 17);
  workers.at(recalled).held[0].ended = true;
  RoundsUntil("it is at the other one", [&] {
    return !workers.at(recalled).held.empty() && workers.at(recalled).held[0].order.experiment_id == second;
  });
  CHECK_FALSE(host->Find(first)->hub->Heartbeat(reports.at(recalled)).ok());
  CHECK(ValueOf(host->Get(first)).env_steps == 17);
}

TEST_CASE_METHOD(HostFixture, "files of a run that are slow to open hold up neither the pool nor other experiments",
                 "[unit]") {
  Start();
  const std::string id = Submit("x");
  StuckRead stuck(HubFolder(id) + "/hub.state");
  WholeCrew();
  RoundsUntil("its files are read", [&] { return stuck.HasReader(); });
  Round();
  CHECK(workers.at("actor").held.empty());
  CHECK(State(id) == RunState::kQueued);
  CHECK_THAT(ValueOf(host->Get(id)).record.reason, Catch::Contains("being opened"));
  // Its workers are as good as taken.
  const std::string second = Submit("second");
  CHECK_THAT(ValueOf(host->Get(second)).record.reason,
             Catch::Equals("waits for 1 learner, 1 actor for CartPole-v1, busy with others"));
  OthersGoOn();

  const std::string fresh = EncodeHubRecord(HubRecord());
  SECTION("it begins once they are open") {
    stuck.LetGo(fresh);
    RoundsUntil("orders", [&] { return workers.at("actor").held.size() == 1; });
    CHECK(State(id) == RunState::kRunning);
  }
  SECTION("one that is stopped meanwhile does not begin, and is deleted once they are closed again") {
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
    CHECK(workers.at("actor").held.empty());
  }
  SECTION("one that is stopped meanwhile is resumed once they are closed again") {
    REQUIRE_OK(host->Stop(second));
    REQUIRE_OK(host->Stop(id));
    stuck.LetGo(fresh);
    REQUIRE_OK(host->Resume(id));
    RoundsUntil("orders", [&] { return workers.at("actor").held.size() == 1; });
    CHECK(ValueOf(host->Get(id)).record.attempts == 1);
  }
  SECTION("a hub that stops meanwhile opens it the next time") {
    const Thread stopping("stopping", [&] { host.reset(); });
    stuck.LetGo(fresh);
  }
}

TEST_CASE_METHOD(HostFixture, "what a run writes at its end holds up neither the pool nor other experiments",
                 "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders",
              [&] { return workers.at("actor").held.size() == 1 && workers.at("evaluator").held.size() == 1; });
  WorkerReport report;
  {
    WorkerIntroduction actor;
    actor.worker_id = report.worker_id = RunWorkerId("actor", workers.at("actor").held[0].order.number);
    REQUIRE_OK(host->Find(id)->hub->Join(actor));
  }
  REQUIRE_OK(host->Stop(id));
  StuckWrite stuck(HubFolder(id) + "/hub.state.new");
  report.figures.counters["env_steps"] = 17;
  REQUIRE_OK(host->Find(id)->hub->Heartbeat(report));
  host->Find(id)->hub->Leave(report.worker_id);
  EndAll();
  RoundsUntil("the run's end", [&] { return host->Find(id) == nullptr; });
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

TEST_CASE_METHOD(HostFixture, "an experiment that is being stopped holds up no other", "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders", [&] { return workers.at("actor").held.size() == 1; });
  absl::Status stopped = absl::UnknownError("");
  absl::Notification others;
  {
    std::optional<Thread> stopping;
    std::optional<Thread> going_on;
    StuckWrite stuck(HubFolder(id) + "/hub.state.new");
    stopping.emplace("stopping", [&] { stopped = host->Stop(id); });
    Eventually("it is over", [&] { return IsOver(State(id)); });
    going_on.emplace("others", [&] {
      const std::string other = ValueOf(host->Submit({Yaml("other"), Yaml("other"), 0, ""}));
      if (host->Stop(other).ok() && host->Delete(other).ok()) {
        others.Notify();
      }
    });
    REQUIRE(others.WaitForNotificationWithTimeout(absl::Minutes(1)));
    Round();
  }
  CHECK_THAT(std::string(stopped.message()), Catch::Contains("would go on"));  // Such a pipe cannot be synced.
}

TEST_CASE_METHOD(HostFixture, "an experiment with a target return waits for an evaluator as for any other worker",
                 "[unit]") {
  Start();
  WholeCrew();
  workers.erase("evaluator");
  const std::string yaml =
      "environment: {name: CartPole-v1}\nalgorithm: {name: apex_dqn}\nstop: {target_return: 100}\n";
  const std::string id = ValueOf(host->Submit({yaml, yaml, 0, ""}));
  const std::string missing = "waits for 1 evaluator for CartPole-v1";
  RoundsUntil("what it waits for",
              [&] { return ValueOf(host->Get(id)).record.reason.find(missing) != std::string::npos; });
  CHECK(State(id) == RunState::kQueued);
  RoundsUntil("that it waits is told", [&] { return Log(id).find(missing) != std::string::npos; });
  Worker("evaluator", WorkerKind::kEvaluator);
  RoundsUntil("an order for it", [&] { return workers.at("evaluator").held.size() == 1; });
  CHECK(State(id) == RunState::kRunning);
  // One that has begun says it in the same words.
  workers.erase("evaluator");
  options.pool.silent_after = absl::Seconds(1);
  host.reset();
  Start();
  RoundsUntil("that it is gone", [&] { return ValueOf(host->Get(id)).record.reason == missing; });
}

TEST_CASE_METHOD(HostFixture, "experiments are listed from the newest on, a page at a time", "[unit]") {
  Start();
  std::vector<std::string> ids;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    ids.insert(ids.begin(), Submit(name));
  }
  REQUIRE_OK(host->Stop(ids[1]));
  REQUIRE_OK(host->Stop(ids[3]));
  const auto all = [&](ExperimentQuery query) {
    std::vector<std::string> listed;
    do {
      const ExperimentPage page = host->List(query);
      CHECK(static_cast<int64_t>(page.views.size()) <= query.limit);
      for (const ExperimentView& view : page.views) {
        listed.push_back(view.record.id);
      }
      query.before = page.next_before;
    } while (query.before != 0);
    return listed;
  };
  for (const bool restarted : {false, true}) {
    if (restarted) {
      host.reset();
      Start();
    }
    for (const int64_t limit : {1, 2, 5, 100}) {
      ExperimentQuery query;
      query.limit = limit;
      CHECK(all(query) == ids);
      query.states = {RunState::kStopped};
      CHECK(all(query) == std::vector<std::string>{ids[1], ids[3]});
      query.states = {RunState::kRunning, RunState::kFailed};
      CHECK(all(query).empty());
    }
  }
  REQUIRE_OK(host->Delete(ids[1]));
  ids.erase(ids.begin() + 1);
  CHECK(all({}) == ids);
}

TEST_CASE_METHOD(HostFixture, "a submission that comes again after a restart is the same one", "[unit]") {
  Start();
  const std::string id = ValueOf(host->Submit({Yaml("x"), Yaml("x"), 0, "request"}));
  host.reset();
  Start();
  CHECK(ValueOf(host->Submit({Yaml("x"), Yaml("x"), 0, "request"})) == id);
  CHECK(ValueOf(host->Texts(id)).submitted_yaml == Yaml("x"));
}

TEST_CASE_METHOD(HostFixture, "an experiment whose workers all give up has failed, and says why", "[unit]") {
  options.pool.longest_retry = absl::Milliseconds(1);
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("the failure", [&] {
    for (HeldOrder& held : workers.at("actor").held) {
      held.ended = true;
      held.failure = "no such device";
    }
    return IsOver(State(id));
  });
  CHECK(State(id) == RunState::kFailed);
  CHECK_THAT(ValueOf(host->Get(id)).record.reason, Catch::Contains("no such device"));
}

}  // namespace
}  // namespace waggle::testing
