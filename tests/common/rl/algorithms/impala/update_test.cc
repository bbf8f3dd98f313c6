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

// The same batch as the trainee's own policy would have acted it, but for `more` nats at each step.
TensorBatch ActedBy(AlgorithmTrainee& trainee, TensorBatch batch, double more) {
  const torch::Tensor counts = torch::isnan(batch.at("log_prob")).logical_not();
  const torch::Tensor own = testing::LogProbs(trainee.model(), "actor_critic", batch) + more;
  batch.fields["log_prob"] = torch::where(counts, own, batch.at("log_prob"));
  return batch;
}

TEST_CASE("IMPALA's loss of what its own policy acted is that of a loop over the steps that count", "[unit]") {
  for (const EnvironmentSpec& environment : {Choices(), Real(), testing::SeveralActions()}) {
    for (const bool normalize : {false, true}) {
      const auto trainee =
          ActorCriticOf(std::string("name: impala, unroll: 5, discount: 0.9, lambda: 0.7, value_weight: 0.3, "
                                    "entropy: {weight: 0.02}, normalize_advantages: ") +
                            (normalize ? "true" : "false"),
                        environment);
      const TensorBatch batch = ActedBy(*trainee, RandomUnrolls(environment, 3), 0);
      auto steps =
          testing::ReferenceSteps(trainee->model().net("actor_critic").network(), environment, batch, 0.9, 0.7);
      REQUIRE(steps.size() == 4 * 5 - 3);
      if (normalize) {
        testing::Standardize(&steps);
      }
      const auto count = static_cast<double>(steps.size());
      double loss = 0;
      for (const ReferenceStep& step : steps) {
        const double error = step.value - step.value_target;
        loss += (0.3 * error * error - step.advantage * step.log_prob - 0.02 * step.entropy) / count;
      }
      CaptureStepper stepper;
      const UpdateResult result = Updated(trainee.get(), batch, &stepper);
      CHECK(Metric(result, "actor_critic_loss") == Approx(loss));
      CHECK(Metric(result, "ratio_mean") == Approx(1));
      CHECK(Metric(result, "clip_fraction") == Approx(0).margin(0.5));
    }
  }
}

// The ratios are half and a third, whatever the policy has become: of an unroll of one step the advantage is that of
// the policy itself times the ratio, and the value's error is too.
TEST_CASE("IMPALA counts a step by how much likelier it is now than when it was acted", "[unit]") {
  const EnvironmentSpec environment = Choices();
  const auto trainee =
      ActorCriticOf("name: impala, unroll: 5, lambda: 0, discount: 0.9, value_weight: 0.3", environment);
  const TensorBatch own = ActedBy(*trainee, RandomUnrolls(environment, 6), 0);
  auto steps = testing::ReferenceSteps(trainee->model().net("actor_critic").network(), environment, own, 0.9, 0);
  for (const double ratio : {0.5, 1.0 / 3, 1.0, 4.0}) {
    const double counts = std::min(1.0, ratio);
    double loss = 0;
    for (const ReferenceStep& step : steps) {
      const double error = counts * step.advantage;
      loss += (0.3 * error * error - counts * step.advantage * step.log_prob - 0.01 * step.entropy) /
              static_cast<double>(steps.size());
    }
    CaptureStepper stepper;
    const UpdateResult result = Updated(trainee.get(), ActedBy(*trainee, own, -std::log(ratio)), &stepper);
    CHECK(Metric(result, "actor_critic_loss") == Approx(loss));
    CHECK(Metric(result, "ratio_mean") == Approx(ratio));
    CHECK(Metric(result, "clip_fraction") == Approx(ratio > 1.5 ? 1 : 0).margin(ratio == 1 ? 1 : 1e-9));
  }
}

// Every ratio is above its clip and stays there: the gradient takes ratios for constant, and a difference does not.
TEST_CASE("IMPALA's gradient by the policy's parameters is finite differences of its loss", "[unit]") {
  for (const EnvironmentSpec& environment : {Choices(), Real(), testing::SeveralActions()}) {
    const auto trainee = ActorCriticOf(
        "name: impala, unroll: 5, lambda: 0.7, rho_clip: 0.9, c_clip: 0.6, entropy: {weight: 0.1}", environment);
    ParameterGroup* const group = Group(trainee.get());
    testing::CheckGradient(trainee.get(), group, ActedBy(*trainee, RandomUnrolls(environment, 4), -5),
                           [group](int64_t element) { return !testing::IsValues(*group, element); });
  }
}

// With a single choice the policy's part of the loss is 0, and where episodes terminate targets of lambda 1 are sums of
// rewards.
TEST_CASE("IMPALA's gradient by the value's parameters is finite differences where targets stand still", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(3, Discrete("action", 1));
  const auto trainee = ActorCriticOf("name: impala, unroll: 5", environment);
  ParameterGroup* const group = Group(trainee.get());
  const TensorBatch batch = ActedBy(*trainee, testing::Terminated(RandomUnrolls(environment, 4)), 0);
  testing::CheckGradient(trainee.get(), group, batch,
                         [group](int64_t element) { return testing::IsValues(*group, element); });
}

TEST_CASE("IMPALA finds the optimum of two states", "[unit]") {
  const auto trainee = ActorCriticOf("name: impala, discount: 0.9, optimizer: {type: adam, learning_rate: 0.02}",
                                     testing::TwoStates::Environment(), torch::kFloat64, 1, 16);
  testing::CheckSolvesTwoStates(trainee.get(), 300);
}

}  // namespace
}  // namespace waggle
