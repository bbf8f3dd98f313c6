// The hub with 200 workers that do nothing but be there: how long people wait for its status, and how long workers take
// to be back after it has started again. The limits are what an operator would take.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/check.h"
#include "common/base/stopwatch.h"
#include "common/base/thread.h"
#include "common/hub_client/hub_client.h"
#include "common/hub_client/pool_client.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rpc/channel.h"
#include "common/rpc/server.h"
#include "common/rpc/unary_call.h"
#include "param_server/experiment_service.h"
#include "param_server/experiments/experiment_host.h"
#include "param_server/pool_service.h"
#include "param_server/worker_service.h"
#include "tests/bench/bench.h"
#include "tests/bench/must.h"
#include "waggle/v1/worker.grpc.pb.h"

namespace waggle::bench {
namespace {

constexpr int kActors = 197;  // Beside a replay server, a learner and an evaluator.
constexpr int kQuestions = 1'000;
constexpr int kFigures = 30;  // As many as an actor has.
constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr char kExperiment[] = R"(
experiment: {name: bench}
environment: {name: CartPole-v1}
algorithm: {name: apex_dqn}
actor: {processes: {min: 1, max: 197}}
stop: {max_seconds: 100000}
)";

// Takes part in each experiment that it is ordered to, and does nothing there.
class IdleWork final : public PoolWork {
 public:
  explicit IdleWork(std::string hub) : hub_(std::move(hub)) {}

  absl::Status Do(const WorkOrder& order, const std::string& run_worker_id, const StopToken& stop) override {
    Metrics metrics;
    for (int i = 0; i < kFigures; ++i) {
      metrics.Add(absl::StrCat("figure_", i), i);
    }
    HubClientOptions options;
    options.hub_address = hub_;
    options.experiment_id = order.experiment_id;
    options.worker_id = run_worker_id;
    options.role = order.role;
    options.index = order.index;
    if (order.role == Role::kReplayServer) {
      options.address = "127.0.0.1:1";
    }
    options.metrics = &metrics;
    absl::StatusOr<std::unique_ptr<HubLink>> link = JoinHub(options, stop);
    if (!link.ok()) {
      return link.status();
    }
    stop.Wait();
    (*link)->Leave(absl::Seconds(2));
    return absl::OkStatus();
  }

 private:
  const std::string hub_;
};

// A hub in this process, and its workers.
class Cluster {
 public:
  Cluster() : folder_("/tmp/waggle-hub-bench-XXXXXX"), algorithms_(BuiltinAlgorithmDefinitions()) {
    WAGGLE_CHECK(mkdtemp(folder_.data()) != nullptr, "a folder can be made");
    StartHub();
    Add(WorkerKind::kReplayServer);
    Add(WorkerKind::kLearner);
    Add(WorkerKind::kEvaluator);
    for (int i = 0; i < kActors; ++i) {
      Add(WorkerKind::kActor);
    }
    id_ = Must(host_->Submit({kExperiment, kExperiment, 0, ""}));
    AwaitAll();
  }
  ~Cluster() {
    stop_.RequestStop();
    threads_.clear();
    StopHub();
    std::filesystem::remove_all(folder_);
  }

  void StartHub() {
    ExperimentHostOptions options;
    options.data_folder = folder_;
    options.self.worker_id = "hub";
    options.self.role = Role::kParamServer;
    options.algorithms = &algorithms_;
    host_ = Must(ExperimentHost::Open(options));
    const FindRun find = [host = host_.get()](const std::string& id) { return host->Find(id); };
    worker_service_ = std::make_unique<WorkerService>(find, absl::Seconds(1));
    pool_service_ = std::make_unique<PoolService>(host_.get());
    experiment_service_ = std::make_unique<ExperimentService>(host_.get());
    server_ = Must(RpcServer::Start(address_, {worker_service_.get(), pool_service_.get(), experiment_service_.get()}));
    address_ = server_->address();
  }
  void StopHub() {
    server_.reset();
    experiment_service_.reset();
    pool_service_.reset();
    worker_service_.reset();
    host_.reset();
  }

  // Until all workers are at their work, as the hub knows it.
  void AwaitAll() {
    const absl::Time give_up = absl::Now() + kPatience;
    while (Alive() < kActors + 3) {
      WAGGLE_CHECK(absl::Now() < give_up, absl::StrCat("all workers are there; there are ", Alive()));
      absl::SleepFor(absl::Milliseconds(5));
    }
  }

  const std::string& address() const { return address_; }
  const std::string& id() const { return id_; }

 private:
  int Alive() {
    const std::shared_ptr<RunServices> run = host_->Find(id_);
    if (run == nullptr || host_->Members().size() < kActors + 3) {
      return 0;
    }
    const std::vector<WorkerView> workers = run->hub->Overview().workers;
    return static_cast<int>(std::count_if(workers.begin(), workers.end(), [](const WorkerView& worker) {
      return worker.alive && worker.introduction.role != Role::kParamServer;
    }));
  }

  void Add(WorkerKind kind) {
    threads_.emplace_back("worker", [this, kind] {
      IdleWork work(address_);
      PoolClientOptions options;
      options.hub_address = address_;
      options.kind = kind;
      options.address = "127.0.0.1:1";
      options.resources.environments = {"CartPole-v1"};
      Must(WorkForPool(options, &work, stop_));
    });
  }

  std::string folder_;
  const AlgorithmDefinitions algorithms_;
  std::string address_ = "127.0.0.1:0";
  std::string id_;
  std::unique_ptr<ExperimentHost> host_;
  std::unique_ptr<WorkerService> worker_service_;
  std::unique_ptr<PoolService> pool_service_;
  std::unique_ptr<ExperimentService> experiment_service_;
  std::unique_ptr<RpcServer> server_;
  const StopToken stop_;
  std::vector<Thread> threads_;
};

Cluster& SharedCluster() {
  static Cluster cluster;
  return cluster;
}

// What the 99th of 100 people wait for the whole status of a run, asked as waggle status does.
Result Status() {
  Cluster& cluster = SharedCluster();
  const auto channel = NewChannel(cluster.address(), "bench");
  const auto stub = v1::WorkerService::NewStub(channel);
  v1::OverviewRequest request;
  request.set_experiment_id(cluster.id());
  std::vector<double> milliseconds;
  for (int i = 0; i < kQuestions; ++i) {
    v1::OverviewResponse response;
    const Stopwatch watch;
    Must(CallUnary(kPatience, StopToken(),
                   [&](grpc::ClientContext* context) { return stub->Overview(context, request, &response); }));
    milliseconds.push_back(absl::ToDoubleMilliseconds(watch.Elapsed()));
    absl::SleepFor(absl::Milliseconds(5));
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  Result result;
  result.value = milliseconds[milliseconds.size() * 99 / 100];
  result.median = milliseconds[milliseconds.size() / 2];
  result.unit = "ms, 99th of 100";
  result.limit = 50;
  result.limit_name = "what nobody notices";
  result.less_is_better = true;
  return result;
}

// How long after a hub serves again all its workers are back.
Result Back() {
  Cluster& cluster = SharedCluster();
  std::vector<double> milliseconds;
  for (int i = 0; i < 3; ++i) {
    cluster.StopHub();
    absl::SleepFor(absl::Seconds(2));
    cluster.StartHub();
    const Stopwatch watch;
    cluster.AwaitAll();
    milliseconds.push_back(absl::ToDoubleMilliseconds(watch.Elapsed()));
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  Result result;
  result.value = milliseconds.front();
  result.median = milliseconds[1];
  result.unit = "ms";
  result.limit = 5'000;
  result.limit_name = "what an operator waits";
  result.less_is_better = true;
  return result;
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  return waggle::bench::RunCases(argc, argv,
                                 {{"hub/status_of_200_workers", &waggle::bench::Status},
                                  {"hub/200_workers_back_after_restart", &waggle::bench::Back}});
}
