#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/two_states.h"
#include "tests/support/unroll_checks.h"

namespace waggle {
namespace {

using testing::ActedBy;
using testing::ActorCriticOf;
using testing::Metric;
using testing::RandomUnrolls;
using testing::ReferenceStep;
using testing::Updated;

ParameterGroup* Group(AlgorithmTrainee* trainee) {
  return trainee->model().net("actor_critic").group();
}

TEST_CASE("the loss of the policy's own actions is that of a loop over the counted steps", "[unit]") {
  for (const std::string name : {"a2c", "impala"}) {
    for (const EnvironmentSpec& environment : testing::AllKindsOfActions()) {
      for (const bool normalize : {false, true}) {
        INFO(name << (normalize ? ", normalized" : ""));
        const auto trainee =
            ActorCriticOf("name: " + name +
                              ", unroll: 5, discount: 0.9, lambda: 0.7, value_weight: 0.3, entropy: {weight: 0.02}, "
                              "normalize_returns: false, normalize_advantages: " +
                              (normalize ? "true, value_replicas: 3, advantage_clip: 0.4" : "false"),
                          environment);
        const TensorBatch batch = ActedBy(trainee->model(), RandomUnrolls(environment, 3), 0);
        auto steps =
            testing::ReferenceSteps(trainee->model().net("actor_critic").network(), environment, batch, 0.9, 0.7);
        REQUIRE(steps.size() == 4 * 5 - 3);
        if (normalize) {
          testing::Standardize(&steps);
        }
        const auto count = static_cast<double>(steps.size());
        double loss = 0;
        double entropy = 0;
        for (const ReferenceStep& step : steps) {
          const double advantage = normalize ? std::clamp(step.advantage, -0.4, 0.4) : step.advantage;
          loss += (-advantage * step.log_prob - 0.02 * step.entropy) / count;
          for (const double estimate : step.estimates) {
            const double error = estimate - step.value_target;
            loss += 0.3 * error * error / static_cast<double>(step.estimates.size()) / count;
          }
          entropy += step.entropy / count;
        }
        CaptureStepper stepper;
        const UpdateResult result = Updated(trainee.get(), batch, &stepper);
        CHECK(Metric(result, "actor_critic_loss") == Approx(loss));
        CHECK(Metric(result, "entropy") == Approx(entropy));
      }
    }
  }
}

// Both algorithms have the same options, so an option that only A2C used would be noticed.
TEST_CASE("A3C's gradient is A2C's", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(3, Discrete("action", 4));
  std::vector<torch::Tensor> gradients;
  for (const std::string name : {"a2c", "a3c"}) {
    const auto trainee = ActorCriticOf(
        "name: " + name + ", unroll: 5, discount: 0.9, lambda: 0.7, normalize_returns: false, entropy: {weight: 0.1}",
        environment);
    CaptureStepper stepper;
    Updated(trainee.get(), RandomUnrolls(environment, 3), &stepper);
    gradients.push_back(stepper.gradients().at("actor_critic"));
  }
  CHECK(gradients[0].abs().max().item<double>() > 0);
  CHECK(torch::equal(gradients[0], gradients[1]));
}

// Targets stand on the value itself, which the gradient takes for constant and a difference does not: see the next
// test.
TEST_CASE("an actor-critic's gradient by the policy's parameters is finite differences of its loss", "[unit]") {
  struct Case {
    const char* algorithm;
    std::optional<double>
        change;  // From the policy's own log probabilities to the acted ones, which are random without it.
  };
  const Case cases[] = {
      {"name: a2c, unroll: 5, lambda: 0.7, entropy: {weight: 0.1}", std::nullopt},
      // Every ratio is above its clip and stays there: the gradient takes ratios for constant.
      {"name: impala, unroll: 5, lambda: 0.7, rho_clip: 0.9, c_clip: 0.6, entropy: {weight: 0.1}", -5},
      {"name: ppo, unroll: 5, epochs: 1, minibatches: 1, discount: 0.9, lambda: 0.7, entropy: {weight: 0.1}",
       std::nullopt}};
  for (const Case& one : cases) {
    for (const EnvironmentSpec& environment : testing::AllKindsOfActions()) {
      INFO(one.algorithm);
      const auto trainee = ActorCriticOf(one.algorithm, environment);
      ParameterGroup* const group = Group(trainee.get());
      const TensorBatch batch = RandomUnrolls(environment, 4);
      testing::CheckGradient(trainee.get(), group, one.change ? ActedBy(trainee->model(), batch, *one.change) : batch,
                             [group](int64_t element) { return !testing::IsValues(*group, element); });
    }
  }
}

// With a single choice the policy's part of the loss is 0, and where episodes terminate targets of lambda 1 are sums of
// rewards. PPO's normalised advantages add up to 0 whatever the values are.
TEST_CASE("an actor-critic's gradient by the value's parameters is finite differences if targets are fixed", "[unit]") {
  for (const char* const algorithm :
       {"name: a2c, unroll: 5, lambda: 1", "name: a2c, unroll: 5, lambda: 1, value_replicas: 3",
        "name: impala, unroll: 5, lambda: 1",
        "name: ppo, unroll: 5, epochs: 1, minibatches: 1, lambda: 1, normalize_advantages: true"}) {
    INFO(algorithm);
    const EnvironmentSpec environment = testing::EnvironmentOf(3, Discrete("action", 1));
    const auto trainee = ActorCriticOf(algorithm, environment);
    ParameterGroup* const group = Group(trainee.get());
    const TensorBatch batch = ActedBy(trainee->model(), testing::Terminated(RandomUnrolls(environment, 4)), 0);
    testing::CheckGradient(trainee.get(), group, batch,
                           [group](int64_t element) { return testing::IsValues(*group, element); });
  }
}

TEST_CASE("an actor-critic finds the optimum of two states", "[unit]") {
  const std::vector<std::pair<std::string, int64_t>> cases = {
      {"name: a2c, normalize_returns: false, optimizer: {type: adam, learning_rate: 0.02}", 300},
      {"name: impala, optimizer: {type: adam, learning_rate: 0.02}", 300},
      {"name: ppo, epochs: 4, minibatches: 2, normalize_returns: false, optimizer: {learning_rate: 0.02}", 80},
      {"name: ppg, minibatches: 2, policy_phases: 4, normalize_returns: false, optimizer: {learning_rate: 0.02}", 80},
      {"name: trac, normalize_returns: false, optimizer: {type: adam, learning_rate: 0.02}", 300}};
  for (const auto& [algorithm, updates] : cases) {
    INFO(algorithm);
    const auto trainee =
        ActorCriticOf(algorithm + ", discount: 0.9", testing::TwoStates::Environment(), torch::kFloat64, 1, 16);
    testing::CheckSolvesTwoStates(trainee.get(), updates);
  }
}

}  // namespace
}  // namespace waggle
