#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/hub/hub_convert.h"
#include "common/hub/pool_convert.h"
#include "common/rl/algorithms/definitions.h"
#include "param_server/experiments/experiment_host.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {

inline std::string Yaml(const std::string& name, const std::string& more = "") {
  return absl::StrCat("experiment: {name: ", name, "}\nenvironment: {name: CartPole-v1}\n",
                      "algorithm: {name: apex_dqn}\nstop: {max_learner_steps: 1000}\n", more);
}

// A file on a disk that does not respond: a named pipe, whose readers wait.
class StuckRead {
 public:
  explicit StuckRead(std::string path) : path_(std::move(path)) {
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
    REQUIRE(mkfifo(path_.c_str(), 0600) == 0);
  }
  ~StuckRead() { LetGo(""); }

  // True once a reader has opened it.
  bool HasReader() {
    writer_ = writer_ < 0 ? open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC) : writer_;
    return writer_ >= 0;
  }
  // Ends the wait of readers, which read this text.
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

// The same for writers, which fail in the end.
class StuckWrite {
 public:
  explicit StuckWrite(std::string path) : path_(std::move(path)) { REQUIRE(mkfifo(path_.c_str(), 0600) == 0); }
  ~StuckWrite() { LetGo(); }

  void LetGo() {
    // Kept open, as writing to a pipe without a reader would end this process.
    const int reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    CHECK((reader >= 0 || errno == ENOENT));
    unlink(path_.c_str());
  }

 private:
  const std::string path_;
};

// A host, and processes of its pool that accept their orders without working.
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
    return ValueOf(host->Submit({yaml, yaml, priority, ""})).front();
  }

  v1::AttendRequest& Worker(const std::string& worker_id, WorkerKind kind) {
    v1::AttendRequest& worker = workers[worker_id];
    worker.set_worker_id(worker_id);
    worker.set_kind(ToProto(kind));
    worker.set_address("10.0.0.1:7001");
    worker.mutable_resources()->clear_environments();
    worker.mutable_resources()->add_environments("CartPole-v1");
    worker.set_capacity(kind == WorkerKind::kReplayServer || kind == WorkerKind::kEvaluator ? 8 : 1);
    return worker;
  }
  void WholeCrew() {
    Worker("replay", WorkerKind::kReplayServer);
    Worker("learner", WorkerKind::kLearner);
    Worker("actor", WorkerKind::kActor);
    Worker("evaluator", WorkerKind::kEvaluator);
  }
  absl::StatusOr<v1::AttendResponse> Attend(const v1::AttendRequest& attendance) {
    const auto answered = std::make_shared<absl::Notification>();
    const auto answer = std::make_shared<absl::StatusOr<v1::AttendResponse>>(absl::UnknownError(""));
    host->Attend(attendance, [answered, answer](absl::StatusOr<v1::AttendResponse> value) {
      *answer = std::move(value);
      answered->Notify();
    });
    REQUIRE(answered->WaitForNotificationWithTimeout(absl::Minutes(1)));
    return *answer;
  }
  // All processes attend once and hold their orders.
  void Round() {
    for (auto& [worker_id, worker] : workers) {
      const v1::AttendResponse answer = ValueOf(Attend(worker));
      worker.clear_held();
      for (const v1::WorkOrder& order : answer.orders()) {
        *worker.add_held()->mutable_order() = order;
      }
      discarded[worker_id] = {answer.discarded().begin(), answer.discarded().end()};
    }
  }
  void EndAll() {
    for (auto& [worker_id, worker] : workers) {
      for (v1::HeldOrder& held : *worker.mutable_held()) {
        held.set_ended(true);
      }
    }
  }
  // Null while the experiment does not run.
  std::shared_ptr<RunServices> Find(const std::string& id) { return host->Find(id).value_or(nullptr); }
  // A worker that the pool does not know joins the run, reports these figures, and leaves.
  void Work(const std::string& id, const std::string& worker_id, Role role, const WorkerFigures& figures) {
    const std::shared_ptr<RunServices> run = Find(id);
    run->hub->Order({worker_id, role, /*process_id=*/77, /*host=*/"h", ""}, ++last_index);
    REQUIRE_OK(run->hub->Join({worker_id, absl::StrCat("10.0.0.1:", 10'000 + last_index), 0, {}}));
    WorkerReport report;
    report.worker_id = worker_id;
    report.figures = figures;
    REQUIRE_OK(run->hub->Heartbeat(report));
    run->hub->Leave(worker_id);
  }
  // The learner of an experiment with this name publishes weights of its step `version`.
  void Publish(const std::string& id, const std::string& name, uint64_t version) {
    ModelSnapshot snapshot;
    snapshot.model = name;
    snapshot.version = {1, version};
    snapshot.progress.env_steps = Find(id)->hub->env_steps();
    REQUIRE_OK(Find(id)->models->Publish(std::move(snapshot)));
  }
  // An evaluator evaluates weights that were published at the present number of steps.
  void Evaluate(const std::string& id, double mean_return, uint64_t version = 1) {
    const std::shared_ptr<RunServices> run = Find(id);
    const std::string worker_id = absl::StrCat("evaluator-", ++last_index);
    run->hub->Order({worker_id, Role::kEvaluator, 77, "h", ""}, last_index);
    REQUIRE_OK(run->hub->Join({worker_id, absl::StrCat("10.0.0.1:", 10'000 + last_index), 0, {}}));
    WorkerReport report;
    report.worker_id = worker_id;
    report.evaluations.resize(1);
    Evaluation& evaluation = report.evaluations[0].evaluation;
    evaluation.version = {1, version};
    evaluation.episodes = 20;
    evaluation.mean_return = evaluation.min_return = evaluation.max_return = mean_return;
    evaluation.mean_length = 9;
    evaluation.env_steps = static_cast<uint64_t>(run->hub->env_steps());
    report.evaluations[0].finished = absl::FromUnixMicros(last_index);
    REQUIRE_OK(run->hub->Heartbeat(report));
    run->hub->Leave(worker_id);
  }
  // True if its run is closed and its files are written.
  bool IsClosed(const std::string& id) { return ValueOf(host->Get(id)).ended_at_us() != 0; }
  std::string Output(const std::string& id) { return ValueOf(host->Get(id)).output_folder() + "/"; }
  RunState State(const std::string& id) { return ValueOf(FromProto(ValueOf(host->Get(id)).state())); }
  void RoundsUntil(const std::string& what, const std::function<bool()>& condition) {
    Eventually(what, [&] {
      Round();
      return condition();
    });
  }
  // Other experiments are submitted, run and end.
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
  std::atomic<int> drawn{0};  // Requests to draw curves of a run with a summary.
  std::unique_ptr<ExperimentHost> host;
  std::map<std::string, v1::AttendRequest> workers;
  std::map<std::string, std::vector<std::string>> discarded;
  int last_index = 1'000;  // The pool does not use it.
};

}  // namespace waggle::testing
