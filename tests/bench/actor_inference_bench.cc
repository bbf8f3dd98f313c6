// The whole actor: environments, batched inference with a 64-64 network, and writing.

#include <memory>
#include <vector>

#include "common/config/experiment/experiment.h"
#include "common/nn/device.h"
#include "common/nn/torch.h"
#include "common/rl/acting/network_policy.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/kit/algorithm.h"
#include "common/rl/training/trainee.h"
#include "tests/bench/actor_bench.h"
#include "tests/bench/bench.h"
#include "tests/bench/must.h"

namespace waggle::bench {
namespace {

constexpr int64_t kLanes = 32;
constexpr int64_t kCalls = 5'000;
constexpr double kAim = 100'000;

constexpr char kExperiment[] = R"(
environment: {name: CartPole-v1}
algorithm: {name: apex_dqn}
network:
  torso:
    - {type: mlp, units: [64, 64]}
stop: {max_seconds: 1}
)";

// Calls of Act per second, times lanes: the loop's rate if all else were free.
double ActsPerSecond(Policy* policy) {
  const auto environments = CartPoles(kLanes);
  PolicyBuffers buffers(*policy, environments->spec().actions, kLanes);
  Must(environments->Reset());
  PolicyInput input;
  const ReadyLanes ready = Must(environments->Recv(kLanes, StopToken()));
  input.slots = ready.lanes;
  input.observations = ready.observations;
  input.first = ready.first;
  const absl::Time began = absl::Now();
  for (int64_t call = 0; call < kCalls; ++call) {
    Must(policy->Act(input, ActMode::kExplore, buffers.output()));
  }
  return static_cast<double>(kCalls * kLanes) / absl::ToDoubleSeconds(absl::Now() - began);
}

// A policy as an actor of the experiment above has it, with a new learner's weights.
struct Acting {
  std::unique_ptr<Policy> policy;
  ModelSnapshot weights;
  TablePlan plan;
};

Acting NewActing() {
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const AlgorithmImplementations implementations = BuiltinAlgorithms();
  const Experiment experiment = Must(ParseExperiment(kExperiment, "benchmark", {}, definitions));
  const EnvironmentSpec environment = CartPole::Spec();
  Acting acting;
  acting.weights = Must(
      Must(AlgorithmTrainee::Create(experiment, environment, definitions, implementations, torch::kCPU))->Publish());
  PolicyContext policy_context;
  policy_context.experiment = &experiment;
  policy_context.definitions = &definitions;
  policy_context.environment = environment;
  policy_context.lanes = policy_context.all_lanes = kLanes;
  acting.policy = Must(NetworkPolicy::Create(policy_context));
  Must(acting.policy->LoadWeights(acting.weights));
  acting.plan = Must(PlanExperiment(experiment, environment, definitions)).algorithm.tables.at(0);
  return acting;
}

double LoopStepsPerSecond(const Acting& acting) {
  return StepsPerSecond(acting.policy.get(), acting.weights, acting.plan, kLanes, kCalls);
}

std::vector<Case> Cases() {
  return {
      {"actor/loop_64_64_32",
       [] {
         const Acting acting = NewActing();
         return BestRate([&] { return LoopStepsPerSecond(acting); }, "env_steps/s", kAim, "aim: 100 k");
       }},
      {"actor/loop_64_64_32_beside_inference",
       [] {
         const Acting acting = NewActing();
         const double acts = BestRate([&] { return ActsPerSecond(acting.policy.get()); }, "", 0, "").value;
         return BestRate([&] { return LoopStepsPerSecond(acting); }, "env_steps/s", acts, "its policy's Act alone");
       }},
  };
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  waggle::ConfigureTorch(1);
  return waggle::bench::RunCases(argc, argv, waggle::bench::Cases());
}
