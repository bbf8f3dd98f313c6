// The whole actor: environments, batched inference with a 64-64 network, and writing.

#include <torch/torch.h>

#include <algorithm>

#include "common/experiment/experiment.h"
#include "common/nn/device.h"
#include "common/rl/algorithm.h"
#include "common/rl/algorithms/builtin.h"
#include "tests/bench/actor_bench.h"
#include "tests/bench/bench.h"

namespace waggle::bench {
namespace {

constexpr int64_t kLanes = 32;
constexpr int64_t kCalls = 10'000;
constexpr double kAim = 100'000;

constexpr char kExperiment[] = R"(
environment: {name: CartPole-v1}
algorithm: {name: apex_dqn}
network:
  torso:
    - {type: mlp, units: [64, 64]}
stop: {max_seconds: 1}
)";

// Calls of Act a second, times lanes: what the loop could do if all else were free.
double ActsPerSecond(Policy* policy) {
  const auto environments = CartPoles(kLanes);
  PolicyBuffers buffers(*policy, environments->spec().action.Array(), kLanes);
  WAGGLE_CHECK(environments->Reset().ok(), "CartPole can be reset");
  PolicyInput input;
  input.lanes = kLanes;
  input.observations = environments->current().observations;
  input.first = environments->current().first;
  const absl::Time began = absl::Now();
  for (int64_t call = 0; call < kCalls; ++call) {
    WAGGLE_CHECK(policy->Act(input, ActMode::kExplore, buffers.output()).ok(), "the policy acts");
  }
  return static_cast<double>(kCalls * kLanes) / absl::ToDoubleSeconds(absl::Now() - began);
}

template <class T>
T ValueOf(absl::StatusOr<T> value) {
  WAGGLE_CHECK(value.ok(), value.status().message());
  return *std::move(value);
}

void Run() {
  ConfigureTorch(1);
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const AlgorithmImplementations implementations = BuiltinAlgorithms();
  const Experiment experiment = ValueOf(ParseExperiment(kExperiment, "benchmark", {}, definitions));
  const AlgorithmImplementation* const implementation = ValueOf(implementations.Find(experiment.algorithm));
  AlgorithmContext context;
  context.experiment = &experiment;
  context.environment = CartPole::Spec();
  const ModelSnapshot weights = ValueOf(ValueOf(implementation->new_algorithm(context))->Publish());
  PolicyContext policy_context;
  policy_context.experiment = &experiment;
  policy_context.environment = CartPole::Spec();
  policy_context.lanes = policy_context.all_lanes = kLanes;
  const auto policy = ValueOf(implementation->new_policy(policy_context));
  const absl::Status loaded = policy->LoadWeights(weights);
  WAGGLE_CHECK(loaded.ok(), loaded.message());
  const auto plans = ValueOf(
      ValueOf(definitions.Find(experiment.algorithm))
          ->plan_tables(*experiment.algorithm_options, CartPole::Spec(), experiment.replay, experiment.learner));
  double acts = 0;
  double loop = 0;
  for (int round = 0; round < 3; ++round) {
    acts = std::max(acts, ActsPerSecond(policy.get()));
    loop = std::max(loop, StepsPerSecond(policy.get(), weights, plans.at(0), kLanes, kCalls));
  }
  Print("actor/inference_64_64_32", acts, acts);
  Print("actor/loop_64_64_32", loop, acts);
  Print("actor/loop_64_64_32_beside_aim", loop, kAim);
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  if (waggle::bench::AnySelected(
          argc, argv, {"actor/inference_64_64_32", "actor/loop_64_64_32", "actor/loop_64_64_32_beside_aim"})) {
    waggle::bench::Run();
  }
}
