#include <cmath>
#include <string>

#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using testing::RandomTransitions;
using testing::RowOf;
using torch::Tensor;

TEST_CASE("td3_bc's actor climbs the value over its mean size, and stays near recorded actions", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(3, Box("action", DType::kFloat32, {2}, -1, 1));
  const std::string network = "{torso: [{type: mlp, units: [5], activation: tanh}]}";
  const auto trainee =
      testing::TraineeOn("{actor: " + network + ", critic: " + network + "}\nreplay: {import: episodes}",
                         "name: td3_bc, policy_delay: 1, value_weight: 2", environment, torch::kFloat64, 1);
  const TensorBatch batch = RandomTransitions(environment, 6, 3);
  const Net& actor = trainee->model().net("actor");
  const Net& critic = trainee->model().net("critic");
  double sizes = 0, values = 0, distance = 0;
  for (int64_t row = 0; row < 6; ++row) {
    const Observations now = RowOf(batch, kObservation, row);
    const Tensor action = actor(now).action();
    const auto q = critic(now, action).value()[0][0].item<double>();
    sizes += std::abs(critic(now, batch.at(kAction).narrow(0, row, 1)).value()[0][0].item<double>()) / 6;
    values += q / 6;
    for (int64_t i = 0; i < 2; ++i) {
      distance += std::pow(action[0][i].item<double>() - batch.at(kAction)[row][i].item<double>(), 2) / 12;
    }
  }
  CaptureStepper stepper;
  const UpdateResult result = testing::Updated(trainee.get(), batch, &stepper);
  CHECK(testing::Metric(result, "actor_loss") == Approx(distance - 2 * values / sizes));
}

}  // namespace
}  // namespace waggle
