#include <cmath>

#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using testing::Metric;
using testing::RandomTransitions;
using testing::RowOf;
using testing::TraineeOf;
using testing::Updated;
using torch::Tensor;

EnvironmentSpec Environment() {
  return testing::EnvironmentOf(3, Box("action", DType::kFloat32, {2}, -1, 1));
}

TEST_CASE("hddpg weighs errors by their sign", "[unit]") {
  const TensorBatch batch = RandomTransitions(Environment(), 9, 5);
  const auto plain = TraineeOf("name: ddpg", Environment());
  CaptureStepper stepper;
  const Tensor sizes = Updated(plain.get(), batch, &stepper).priorities[0];
  const auto trainee = TraineeOf("name: hddpg, increase_rate: 2, decrease_rate: 0.25", Environment());
  const Net& critic = trainee->model().net("critic");
  const Net& actor = trainee->model().net("actor");
  const Tensor probability = batch.at(kItemProbability);
  double loss = 0;
  int64_t grown = 0;
  for (int64_t row = 0; row < 9; ++row) {
    double target = batch.at(kReward)[row][0].item<double>();
    if (row % 3 != 0) {
      const Observations next = RowOf(batch, "next_observation", row);
      target += 0.99 * critic.target()(next, actor.target()(next).action()).value().item<double>();
    }
    const Tensor taken = batch.at(kAction).narrow(0, row, 1);
    const double rise = target - critic(RowOf(batch, kObservation, row), taken).value().item<double>();
    CHECK(sizes[row].item<double>() == Approx(std::abs(rise)));
    grown += rise > 0 ? 1 : 0;
    const double weight = std::pow((probability.min() / probability[row]).item<double>(), 0.4);
    loss += weight * (rise > 0 ? 2 : 0.25) * rise * rise / 9;
  }
  CHECK((grown > 0 && grown < 9));
  CHECK(Metric(Updated(trainee.get(), batch, &stepper), "critic_loss") == Approx(loss));
}

TEST_CASE("hddpg's gradients are finite differences of its losses", "[unit]") {
  const auto trainee = TraineeOf("name: hddpg, decrease_rate: 0.3", Environment());
  testing::MoveTargets(trainee.get());
  testing::CheckGradients(trainee.get(),
                          {trainee->model().net("actor").group(), trainee->model().net("critic").group()},
                          RandomTransitions(Environment(), 6, 4));
}

}  // namespace
}  // namespace waggle
