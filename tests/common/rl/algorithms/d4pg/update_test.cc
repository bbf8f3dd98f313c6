#include <algorithm>
#include <cmath>
#include <vector>

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

TEST_CASE("d4pg's critic loss is the divergence from a projection by a loop over atoms", "[unit]") {
  const auto trainee = TraineeOf("name: d4pg, atoms: 5, low: -2, high: 2, discount: 0.9, n_step: 1", Environment());
  testing::MoveTargets(trainee.get());
  const TensorBatch batch = RandomTransitions(Environment(), 7, 3);
  const Net& actor = trainee->model().net("actor");
  const Net& critic = trainee->model().net("critic");
  const Tensor probability = batch.at(kItemProbability);
  double critic_loss = 0;
  double actor_loss = 0;
  CaptureStepper stepper;
  const UpdateResult result = Updated(trainee.get(), batch, &stepper);
  for (int64_t row = 0; row < 7; ++row) {
    const Observations now = RowOf(batch, kObservation, row);
    const Observations next = RowOf(batch, "next_observation", row);
    const Tensor given = critic.target()(next, actor.target()(next).action()).vector("value").softmax(-1)[0];
    std::vector<double> wanted(5, 0);
    for (int64_t atom = 0; atom < 5; ++atom) {
      const double bootstrap = row % 3 == 0 ? 0 : 0.9;
      const double moved = batch.at(kReward)[row][0].item<double>() + bootstrap * static_cast<double>(atom - 2);
      const double place = std::clamp(moved, -2.0, 2.0) + 2;
      for (int64_t other = 0; other < 5; ++other) {  // Each atom takes what is within one step of it.
        const double share = std::max(0.0, 1 - std::abs(place - static_cast<double>(other)));
        wanted[static_cast<size_t>(other)] += share * given[atom].item<double>();
      }
    }
    const Tensor log_now = critic(now, batch.at(kAction).narrow(0, row, 1)).vector("value").log_softmax(-1)[0];
    double divergence = 0;
    for (int64_t atom = 0; atom < 5; ++atom) {
      const double p = wanted[static_cast<size_t>(atom)];
      divergence += p > 0 ? p * (std::log(p) - log_now[atom].item<double>()) : 0;
    }
    CHECK(result.priorities[0][row].item<double>() == Approx(divergence));
    const double weight = std::pow((probability.min() / probability[row]).item<double>(), 0.4);
    critic_loss += weight * divergence / 7;
    const Tensor own = critic(now, actor(now).action()).vector("value").softmax(-1)[0];
    for (int64_t atom = 0; atom < 5; ++atom) {
      actor_loss -= weight * own[atom].item<double>() * static_cast<double>(atom - 2) / 7;
    }
  }
  CHECK(Metric(result, "critic_loss") == Approx(critic_loss));
  CHECK(Metric(result, "actor_loss") == Approx(actor_loss));
}

TEST_CASE("d4pg's gradients are finite differences of its losses", "[unit]") {
  const auto trainee = TraineeOf("name: d4pg, atoms: 5, low: -3, high: 3", Environment());
  testing::MoveTargets(trainee.get());
  testing::CheckGradients(trainee.get(),
                          {trainee->model().net("actor").group(), trainee->model().net("critic").group()},
                          RandomTransitions(Environment(), 6, 4));
}

}  // namespace
}  // namespace waggle
