// A hub, which is waggle-param-server in its own process, with 1,000 idle workers: how long its status takes while
// experiments begin and end, its processor time while nothing happens, and the time until workers are back after it
// restarts. The limits are what an operator would accept.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/base/check.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "common/base/process/child_process.h"
#include "common/base/stopwatch.h"
#include "common/base/threads/thread.h"
#include "common/hub/hub_client.h"
#include "common/hub/pool_client.h"
#include "common/net/channel.h"
#include "common/net/unary_call.h"
#include "tests/bench/bench.h"
#include "tests/bench/must.h"
#include "tests/bench/process_crew.h"
#include "waggle/v1/experiment.grpc.pb.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle::bench {
namespace {

constexpr int kWorkers = 1'000;
constexpr int kProcesses = 10;  // The processes of the workers; the workers of a process share a connection to the hub.
constexpr int kLearners = 3;
constexpr int kQuestions = 500;
constexpr int kFigures = 30;  // As many as an actor has.
constexpr absl::Duration kPatience = absl::Seconds(120);
constexpr absl::Duration kBetweenExperiments = absl::Milliseconds(200);
constexpr absl::Duration kWatched = absl::Seconds(20);
// Takes all actors but a few.
constexpr char kLarge[] = R"(
experiment: {name: large}
environment: {name: CartPole-v1}
algorithm: {name: apex_dqn}
actor: {processes: {min: 1, max: 990}}
stop: {max_seconds: 100000}
)";
constexpr char kSmall[] = R"(
experiment: {name: small}
environment: {name: CartPole-v1}
algorithm: {name: apex_dqn}
actor: {processes: 1}
stop: {max_seconds: 100000}
)";

// Takes part in each assigned experiment, and does nothing there.
class IdleWork final : public PoolWork {
 public:
  explicit IdleWork(std::string hub) : hub_(std::move(hub)) {}

  absl::Status Do(const WorkOrder& order, const std::string& run_worker_id, const StopToken& stop) override {
    Metrics metrics;
    for (int i = 0; i < kFigures; ++i) {
      metrics.Add(absl::StrCat("figure_", i), i);
    }
    HubClientOptions options = HubOptionsOf(hub_, order, run_worker_id);
    if (order.role == Role::kReplayServer) {
      options.address = "127.0.0.1:1";
    }
    options.metrics = &metrics;
    absl::StatusOr<std::unique_ptr<HubLink>> link = JoinHub(options, stop);
    if (!link.ok()) {
      return link.status();
    }
    (*link)->run_over().Wait();  // Or the stop.
    (*link)->Leave(absl::Seconds(2));
    return absl::OkStatus();
  }

 private:
  const std::string hub_;
};

WorkerKind KindOf(int worker) {
  return worker == 0              ? WorkerKind::kReplayServer
         : worker == 1            ? WorkerKind::kEvaluator
         : worker < 2 + kLearners ? WorkerKind::kLearner
                                  : WorkerKind::kActor;
}

// Waits for the hub's address.
std::string AddressIn(const std::string& data_folder) {
  const absl::Time give_up = absl::Now() + kPatience;
  while (true) {
    const absl::StatusOr<std::string> address = ReadSmallFile(absl::StrCat(data_folder, "/address"), 1'000);
    if (address.ok()) {
      return std::string(absl::StripAsciiWhitespace(*address));
    }
    WAGGLE_CHECK(absl::Now() < give_up, "the hub serves");
    absl::SleepFor(absl::Milliseconds(5));
  }
}

// Runs every kProcesses-th worker, from `first` on, in one process.
ProcessCrew::Work Workers(const std::string& data_folder, int first) {
  return [data_folder, first](Seat* /*seat*/, const std::atomic<bool>& stop) {
    InitLogging("worker", LogLevel::kError);
    const std::string hub = AddressIn(data_folder);
    const StopToken stopped;
    std::vector<Thread> threads;
    for (int worker = first; worker < kWorkers; worker += kProcesses) {
      threads.emplace_back("worker", [&hub, &stopped, worker] {
        IdleWork work(hub);
        PoolClientOptions options;
        options.hub_address = hub;
        options.kind = KindOf(worker);
        options.address = "127.0.0.1:1";
        options.capacity = options.kind == WorkerKind::kReplayServer || options.kind == WorkerKind::kEvaluator ? 8 : 1;
        options.resources.environments = {"CartPole-v1"};
        Must(WorkForPool(options, &work, stopped));
      });
    }
    while (!stop) {
      absl::SleepFor(absl::Milliseconds(20));
    }
    stopped.RequestStop();
  };
}

class Cluster {
 public:
  Cluster() : folder_("/tmp/waggle-hub-bench-XXXXXX") {
    WAGGLE_CHECK(mkdtemp(folder_.data()) != nullptr, "a folder can be made");
    crew_.emplace();
    for (int i = 0; i < kProcesses; ++i) {
      crew_->Start(Workers(folder_, i));
    }
    StartHub();
    Await(
        "all workers attend", [this] { return Ask(&Experiments::Stub::Pool, v1::PoolRequest()).members_size(); },
        kWorkers);
  }
  ~Cluster() {
    crew_.reset();
    hub_.reset();
    std::filesystem::remove_all(folder_);
  }

  void StartHub() {
    ChildOptions options;
    options.command = {(std::filesystem::read_symlink("/proc/self/exe").parent_path() / "waggle-param-server").string(),
                       "--listen",
                       address_,
                       "--data-dir",
                       folder_,
                       "--log-level",
                       "warning"};
    options.log_path = absl::StrCat(folder_, "/log");
    hub_ = Must(ChildProcess::Spawn(options));
    address_ = AddressIn(folder_);
    const auto channel = NewChannel(address_, "bench");
    experiments_ = Experiments::NewStub(channel);
    workers_ = v1::WorkerService::NewStub(channel);
  }
  void StopHub() {
    hub_->Signal(SIGTERM);
    Await(
        "the hub ends", [this] { return hub_->Poll().has_value() ? 1 : 0; }, 1);
  }

  // Begins the experiment with nearly all workers.
  const std::string& Large() {
    if (large_.empty()) {
      large_ = Submit(kLarge);
    }
    AwaitLarge();
    return large_;
  }
  // Waits until all workers work, by the hub's report.
  void AwaitLarge() {
    Await(
        "all workers are at work",
        [this] {
          v1::OverviewRequest request;
          request.set_experiment_id(large_);
          const v1::OverviewResponse overview = AskWorkers(request);
          return std::count_if(overview.workers().begin(), overview.workers().end(), [](const v1::WorkerInfo& worker) {
            return worker.alive() && worker.role() != v1::ROLE_PARAM_SERVER;
          });
        },
        990 + 3);
  }

  v1::OverviewResponse AskWorkers(const v1::OverviewRequest& request) {
    auto response = CallUnary(workers_.get(), &v1::WorkerService::Stub::Overview, request, kPatience);
    Must(response.status());
    return *std::move(response);
  }
  using Experiments = v1::ExperimentService;
  template <class Request, class Response>
  Response Ask(StubMethod<Experiments::Stub, Request, Response> method, const Request& request) {
    auto response = CallUnary(experiments_.get(), method, request, kPatience);
    Must(response.status());
    return *std::move(response);
  }
  std::string Submit(const std::string& yaml) {
    v1::SubmitRequest request;
    request.set_submitted_yaml(yaml);
    request.set_effective_yaml(yaml);
    return Ask(&Experiments::Stub::Submit, request).id();
  }

  // Takes a small experiment from its submission to its deletion.
  void ComeAndGo() {
    v1::GetExperimentRequest get;
    get.set_id(Submit(kSmall));
    Await(
        "an experiment begins",
        [&] { return Ask(&Experiments::Stub::Get, get).state() == v1::RUN_STATE_RUNNING ? 1 : 0; }, 1);
    v1::StopExperimentRequest stop;
    stop.set_id(get.id());
    Ask(&Experiments::Stub::Stop, stop);
    v1::DeleteExperimentRequest remove;
    remove.set_id(get.id());
    Ask(&Experiments::Stub::Delete, remove);
  }

  // The processor time of the hub's process so far.
  absl::Duration HubCpu() const {
    std::ifstream file(absl::StrCat("/proc/", hub_->pid(), "/stat"));
    std::string text;
    std::getline(file, text);
    // After the name, which ends with the last parenthesis, the 12th and the 13th.
    const std::vector<std::string> words = absl::StrSplit(text.substr(text.rfind(')') + 2), ' ');
    int64_t user = 0;
    int64_t system = 0;
    WAGGLE_CHECK(absl::SimpleAtoi(words.at(11), &user) && absl::SimpleAtoi(words.at(12), &system), "stat has numbers");
    return absl::Seconds(1) * (user + system) / sysconf(_SC_CLK_TCK);
  }

 private:
  template <class Count>
  static void Await(const std::string& what, const Count& count, int64_t wanted) {
    const absl::Time give_up = absl::Now() + kPatience;
    int64_t there = 0;
    while ((there = count()) < wanted) {
      WAGGLE_CHECK(absl::Now() < give_up, absl::StrCat(what, ": got ", there, "; wanted ", wanted));
      absl::SleepFor(absl::Milliseconds(50));
    }
  }

  std::string folder_;
  std::string address_ = "127.0.0.1:0";
  std::string large_;
  std::optional<ProcessCrew> crew_;
  std::unique_ptr<ChildProcess> hub_;
  std::unique_ptr<Experiments::Stub> experiments_;
  std::unique_ptr<v1::WorkerService::Stub> workers_;
};

Cluster& SharedCluster() {
  static Cluster cluster;
  return cluster;
}

// The 99th percentile of the time for an answer, while experiments come and go.
Result Waits(const std::function<void()>& question) {
  Cluster& cluster = SharedCluster();
  std::vector<double> milliseconds;
  std::atomic<bool> enough{false};
  std::atomic<int> gone{0};
  {
    std::vector<Thread> others;
    for (int i = 0; i < kLearners - 1; ++i) {
      others.emplace_back("others", [&] {
        while (!enough) {
          cluster.ComeAndGo();
          ++gone;
          absl::SleepFor(kBetweenExperiments);
        }
      });
    }
    for (int i = 0; i < kQuestions; ++i) {
      const Stopwatch watch;
      question();
      milliseconds.push_back(absl::ToDoubleMilliseconds(watch.Elapsed()));
      absl::SleepFor(absl::Milliseconds(20));
    }
    enough = true;
  }
  std::cerr << gone << " experiments came and went\n";
  std::sort(milliseconds.begin(), milliseconds.end());
  return {milliseconds[milliseconds.size() * 99 / 100],
          milliseconds[milliseconds.size() / 2],
          "ms, 99th of 100",
          100,
          "a wait that no user minds",
          /*less_is_better=*/true};
}

// The whole status of a run, requested as `waggle status ID` does.
Result RunStatus() {
  Cluster& cluster = SharedCluster();
  v1::OverviewRequest request;
  request.set_experiment_id(cluster.Large());
  return Waits([&] { cluster.AskWorkers(request); });
}

// The status of the pool and of all experiments, as in `waggle status`.
Result PoolStatus() {
  Cluster& cluster = SharedCluster();
  cluster.Large();
  return Waits([&] {
    cluster.Ask(&v1::ExperimentService::Stub::Pool, v1::PoolRequest());
    cluster.Ask(&v1::ExperimentService::Stub::List, v1::ListExperimentsRequest());
  });
}

// The hub's share of a core.
Result Cpu() {
  const Cluster& cluster = SharedCluster();
  absl::SleepFor(absl::Seconds(2));
  std::vector<double> percents;
  for (int i = 0; i < 3; ++i) {
    const absl::Duration before = cluster.HubCpu();
    const Stopwatch watch;
    absl::SleepFor(kWatched / 3);
    percents.push_back(100 * absl::FDivDuration(cluster.HubCpu() - before, watch.Elapsed()));
  }
  std::sort(percents.begin(), percents.end());
  return {percents.front(), percents[1], "% of a core", 20, "the allowance for an idle hub", /*less_is_better=*/true};
}

Result CpuOfRun() {
  SharedCluster().Large();
  return Cpu();
}

// The time from a hub's serving again to the return of all its workers.
Result Back() {
  Cluster& cluster = SharedCluster();
  cluster.Large();
  std::vector<double> milliseconds;
  for (int i = 0; i < 3; ++i) {
    cluster.StopHub();
    absl::SleepFor(absl::Seconds(2));
    cluster.StartHub();
    const Stopwatch watch;
    cluster.AwaitLarge();
    milliseconds.push_back(absl::ToDoubleMilliseconds(watch.Elapsed()));
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  return {milliseconds.front(),   milliseconds[1], "ms", 5'000, "the time that an operator accepts",
          /*less_is_better=*/true};
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  return waggle::bench::RunCases(argc, argv,
                                 {{"hub/cpu_of_1000_workers_that_wait", &waggle::bench::Cpu},
                                  {"hub/cpu_of_1000_workers_in_one_run", &waggle::bench::CpuOfRun},
                                  {"hub/status_of_a_run_of_1000", &waggle::bench::RunStatus},
                                  {"hub/status_of_a_pool_of_1000", &waggle::bench::PoolStatus},
                                  {"hub/1000_workers_back_after_restart", &waggle::bench::Back}});
}
