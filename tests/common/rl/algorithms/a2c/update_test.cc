#include "tests/support/two_states.h"
#include "tests/support/unroll_checks.h"

namespace waggle {
namespace {

using testing::ActorCriticOf;
using testing::Metric;
using testing::RandomUnrolls;
using testing::ReferenceStep;
using testing::Updated;

EnvironmentSpec Choices() {
  return testing::EnvironmentOf(3, Discrete("action", 4));
}

EnvironmentSpec Real() {
  return testing::EnvironmentOf(3, Box("action", DType::kFloat32, {2}, -1, 1));
}

ParameterGroup* Group(AlgorithmTrainee* trainee) {
  return trainee->model().net("actor_critic").group();
}

TEST_CASE("A2C's loss is that of a loop over the steps that count", "[unit]") {
  for (const EnvironmentSpec& environment : {Choices(), Real(), testing::SeveralActions()}) {
    for (const bool normalize : {false, true}) {
      const auto trainee =
          ActorCriticOf(std::string("name: a2c, unroll: 5, discount: 0.9, lambda: 0.7, value_weight: 0.3, "
                                    "entropy: {weight: 0.02}, normalize_returns: false, normalize_advantages: ") +
                            (normalize ? "true" : "false"),
                        environment);
      const TensorBatch batch = RandomUnrolls(environment, 3);
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
        const double error = step.value - step.value_target;
        loss += (0.3 * error * error - step.advantage * step.log_prob - 0.02 * step.entropy) / count;
        entropy += step.entropy / count;
      }
      CaptureStepper stepper;
      const UpdateResult result = Updated(trainee.get(), batch, &stepper);
      CHECK(Metric(result, "actor_critic_loss") == Approx(loss));
      CHECK(Metric(result, "entropy") == Approx(entropy));
    }
  }
}

// Targets stand on the value itself, which the gradient takes for constant and a difference does not: see the next
// test.
TEST_CASE("A2C's gradient by the policy's parameters is finite differences of its loss", "[unit]") {
  for (const EnvironmentSpec& environment : {Choices(), Real(), testing::SeveralActions()}) {
    const auto trainee = ActorCriticOf("name: a2c, unroll: 5, lambda: 0.7, entropy: {weight: 0.1}", environment);
    ParameterGroup* const group = Group(trainee.get());
    testing::CheckGradient(trainee.get(), group, RandomUnrolls(environment, 4),
                           [group](int64_t element) { return !testing::IsValues(*group, element); });
  }
}

// With a single choice the policy's part of the loss is 0, and where episodes terminate targets of lambda 1 are sums of
// rewards.
TEST_CASE("A2C's gradient by the value's parameters is finite differences where targets stand still", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(3, Discrete("action", 1));
  const auto trainee = ActorCriticOf("name: a2c, unroll: 5, lambda: 1", environment);
  ParameterGroup* const group = Group(trainee.get());
  testing::CheckGradient(trainee.get(), group, testing::Terminated(RandomUnrolls(environment, 4)),
                         [group](int64_t element) { return testing::IsValues(*group, element); });
}

TEST_CASE("A2C learns the weight of its entropy beside the network, and each loss reaches its own alone", "[unit]") {
  const auto trainee = ActorCriticOf("name: a2c, unroll: 5, entropy: {weight: 0.1, target: 1}", Choices());
  testing::IsolationStepper stepper({Group(trainee.get()), trainee->model().scalar("log_entropy_weight")->group()});
  const UpdateResult result = Updated(trainee.get(), RandomUnrolls(Choices(), 5), &stepper);
  CHECK(stepper.steps() == std::vector<std::string>{"actor_critic", "log_entropy_weight"});
  CHECK(Metric(result, "log_entropy_weight_loss") == Approx(std::log(0.1) * (Metric(result, "entropy") - 1)));
}

TEST_CASE("A2C finds the optimum of two states", "[unit]") {
  const auto trainee =
      ActorCriticOf("name: a2c, discount: 0.9, normalize_returns: false, optimizer: {type: adam, learning_rate: 0.02}",
                    testing::TwoStates::Environment(), torch::kFloat64, 1, 16);
  testing::CheckSolvesTwoStates(trainee.get(), 300);
}

}  // namespace
}  // namespace waggle
