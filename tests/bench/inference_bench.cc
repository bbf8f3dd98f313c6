// Central inference over loopback gRPC: actors ask for actions as fast as they get answers, with several batch sizes
// and waits. The limit is the same policy called without a server, with all rows at once.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/threads/thread.h"
#include "common/config/experiment/experiment.h"
#include "common/hub/inference/remote_policy.h"
#include "common/net/server.h"
#include "common/nn/device.h"
#include "common/nn/torch.h"
#include "common/rl/acting/network_policy.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/kit/algorithm.h"
#include "common/rl/training/trainee.h"
#include "learner/inference/inference_service.h"
#include "tests/bench/bench.h"
#include "tests/bench/must.h"

namespace waggle::bench {
namespace {

constexpr int64_t kLanes = 16;
constexpr absl::Duration kRound = absl::Seconds(1);

constexpr char kExperiment[] = R"(
environment: {name: CartPole-v1}
algorithm: {name: impala}
stop: {max_seconds: 1}
)";

EnvironmentSpec CartPoleSpaces() {
  EnvironmentSpec environment;
  environment.name = "CartPole-v1";
  environment.observations = {Box("observation", DType::kFloat32, {4})};
  environment.actions = {Discrete("action", 2)};
  environment.rewards = {ArraySpec{"reward", DType::kFloat32, {}}};
  return environment;
}

// A policy with `slots` slots, and a new learner's weights.
struct Made {
  std::unique_ptr<Policy> policy;
  ModelSnapshot weights;
  ExperimentPlan plan;
};

Made NewPolicy(int64_t slots) {
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const Experiment experiment = Must(ParseExperiment(kExperiment, "benchmark", {}, definitions));
  const EnvironmentSpec environment = CartPoleSpaces();
  Made made;
  made.plan = Must(PlanExperiment(experiment, environment, definitions));
  made.weights =
      Must(Must(AlgorithmTrainee::Create(experiment, environment, definitions, BuiltinAlgorithms(), torch::kCPU))
               ->Publish());
  made.weights.version = {1, 1};
  PolicyContext context;
  context.experiment = &experiment;
  context.definitions = &definitions;
  context.environment = environment;
  context.lanes = context.all_lanes = slots;
  made.policy = Must(NetworkPolicy::Create(context));
  return made;
}

// An actor's rows, requested again and again.
class Rows {
 public:
  explicit Rows(int64_t lanes)
      : slots_(static_cast<size_t>(lanes)),
        observations_(static_cast<size_t>(4 * lanes)),
        first_(slots_.size()),
        actions_(slots_.size()),
        log_probs_(slots_.size()) {
    for (size_t i = 0; i < slots_.size(); ++i) {
      slots_[i] = static_cast<int64_t>(i);
    }
    output_.actions = {actions_.data()};
    output_.columns = {log_probs_.data()};
  }

  void Act(Policy* policy) {
    const std::vector<const void*> leaves = {observations_.data()};
    PolicyInput input;
    input.slots = slots_;
    input.observations = leaves;
    input.first = first_.data();
    Must(policy->Act(input, ActMode::kExplore, &output_));
  }

 private:
  std::vector<int64_t> slots_;
  std::vector<float> observations_;
  std::vector<uint8_t> first_;
  std::vector<int64_t> actions_;
  std::vector<float> log_probs_;
  PolicyOutput output_;
};

// The rows per second of the policy itself, without a server.
double LocalRows(int64_t rows) {
  Made made = NewPolicy(rows);
  Must(made.policy->LoadWeights(made.weights));
  Rows own(rows);
  return static_cast<double>(rows) / absl::ToDoubleSeconds(TimePerCall([&] { own.Act(made.policy.get()); }).best);
}

double AskedRows(int64_t actors, const InferenceOptions& options) {
  Made made = NewPolicy(actors * kLanes);
  Metrics metrics;
  InferenceBatcher::Parts parts;
  parts.policy = std::move(made.policy);
  parts.environment = CartPoleSpaces();
  parts.actors = actors;
  parts.lanes = kLanes;
  parts.metrics = &metrics;
  const auto batcher = std::make_shared<InferenceBatcher>(options, std::move(parts));
  batcher->SetWeights(made.weights);
  InferenceService service;
  service.SetBatcher(batcher, made.plan.acting_hash());
  const std::unique_ptr<RpcServer> server = Must(RpcServer::Start("127.0.0.1:0", {&service}));
  std::atomic<int64_t> asked{0};
  std::atomic<bool> over{false};
  const StopToken stop;
  double seconds = 0;
  {
    std::vector<std::unique_ptr<Thread>> threads;
    for (int64_t actor = 0; actor < actors; ++actor) {
      threads.push_back(std::make_unique<Thread>("actor", [&, actor] {
        RemotePolicyOptions remote;
        remote.address = [&server] { return server->address(); };
        remote.index = actor;
        remote.lanes = kLanes;
        remote.environment = CartPoleSpaces();
        remote.columns = made.plan.algorithm.columns;
        remote.network_hash = made.plan.acting_hash();
        const std::unique_ptr<Policy> policy = NewRemotePolicy(std::move(remote), stop);
        Rows rows(kLanes);
        while (!over) {
          rows.Act(policy.get());
          ++asked;
        }
      }));
    }
    StopToken().WaitFor(kRound / 4);
    const int64_t before = asked;
    const absl::Time began = absl::Now();
    StopToken().WaitFor(kRound);
    seconds = absl::ToDoubleSeconds(absl::Now() - began);
    asked -= before;
    const int64_t counted = asked;
    over = true;
    threads.clear();
    asked = counted;
  }
  service.SetBatcher(nullptr, 0);
  return static_cast<double>(asked * kLanes) / seconds;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const int64_t actors : {1, 2, 8}) {
    for (const int64_t batch_rows : {kLanes, int64_t{256}}) {
      for (const double wait_seconds : {0.0, 0.001}) {
        InferenceOptions options;
        options.batch_rows = batch_rows;
        options.wait_seconds = wait_seconds;
        cases.push_back(
            {absl::StrCat("inference/actors_", actors, "_batch_", batch_rows, "_wait_", wait_seconds * 1e3, "ms"),
             [actors, options] {
               return BestRate([actors, options] { return AskedRows(actors, options); },
                               absl::StrCat("observations/s, in requests of ", kLanes),
                               LocalRows(std::min(actors * kLanes, options.batch_rows)), "the policy without a server");
             }});
      }
    }
  }
  return cases;
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  waggle::ConfigureTorch(/*threads=*/1);
  return waggle::bench::RunCases(argc, argv, waggle::bench::Cases());
}
