#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/rl/kit/noise.h"
#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using testing::Metric;
using testing::RandomTransitions;
using testing::RowOf;
using torch::Tensor;

std::unique_ptr<AlgorithmTrainee> TraineeWith(const std::string& algorithm, const EnvironmentSpec& environment) {
  const std::string network = "{torso: [{type: mlp, units: [5], activation: tanh}]}";
  return testing::TraineeOn("{actor: " + network + ", critic: " + network + "}\nreplay: {import: episodes}", algorithm,
                            environment, torch::kFloat64, 1);
}

constexpr int64_t kRows = 6;

TEST_CASE("cql adds to sac's loss the logarithm of the sum over all choices, less the recorded one's value", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(3, Discrete("action", 4));
  const TensorBatch batch = RandomTransitions(environment, kRows, 3);
  double losses[2] = {};
  for (const double weight : {0.0, 1.5}) {
    const auto trainee = TraineeWith("name: cql, conservative_weight: " + std::to_string(weight), environment);
    CaptureStepper stepper;
    losses[weight > 0 ? 1 : 0] = Metric(testing::Updated(trainee.get(), batch, &stepper), "critic_loss");
  }
  const auto trainee = TraineeWith("name: cql", environment);
  double gap = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    const Tensor q = trainee->model().net("critic")(RowOf(batch, kObservation, row)).q().select(1, 0);
    for (int64_t member = 0; member < 2; ++member) {
      double sum = 0;
      for (int64_t choice = 0; choice < 4; ++choice) {
        sum += std::exp(q[member][choice].item<double>());
      }
      gap += (std::log(sum) - q[member][batch.at(kAction)[row].item<int64_t>()].item<double>()) / kRows;
    }
  }
  CHECK(losses[1] - losses[0] == Approx(1.5 * gap));
}

// With many samples the importance-sampled sum is the integral over the square of all actions.
TEST_CASE("cql's sum over real actions is an estimate of the integral", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(3, Box("action", DType::kFloat32, {2}, -1, 1));
  const TensorBatch batch = RandomTransitions(environment, kRows, 3);
  const auto trainee = TraineeWith("name: cql, sampled_actions: 1000, conservative_weight: 2", environment);
  const Net& critic = trainee->model().net("critic");
  double gap = 0;
  constexpr int kSteps = 60;
  for (int64_t row = 0; row < kRows; ++row) {
    const Observations now = RowOf(batch, kObservation, row);
    for (int64_t member = 0; member < 2; ++member) {
      double integral = 0;
      for (int i = 0; i < kSteps; ++i) {
        for (int j = 0; j < kSteps; ++j) {
          const Tensor action =
              torch::tensor({{(2 * i + 1.0) / kSteps - 1, (2 * j + 1.0) / kSteps - 1}}, torch::kFloat64);
          integral += std::exp(critic(now, action).value()[member][0].item<double>()) * 4 / (kSteps * kSteps);
        }
      }
      const Tensor taken = critic(now, batch.at(kAction).narrow(0, row, 1)).value();
      gap += (std::log(integral) - taken[member][0].item<double>()) / (2 * kRows);
    }
  }
  CaptureStepper stepper;
  const UpdateResult result = testing::Updated(trainee.get(), batch, &stepper);
  CHECK(Metric(result, "conservative_gap") == Approx(gap).margin(0.05));
}

TEST_CASE("gradients of cql are finite differences of its losses", "[unit]") {
  for (const SpaceLeaf& action : {Box("action", DType::kFloat32, {2}, -1, 1), Discrete("action", 4)}) {
    const EnvironmentSpec environment = testing::EnvironmentOf(3, action);
    const auto trainee = TraineeWith("name: cql, sampled_actions: 3", environment);
    testing::CheckGradients(trainee.get(), {trainee->model().net("critic").group()},
                            RandomTransitions(environment, 5, 4));
  }
}

}  // namespace
}  // namespace waggle
