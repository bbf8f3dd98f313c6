#include <algorithm>
#include <cmath>
#include <string>

#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using testing::Metric;
using testing::RandomTransitions;
using testing::RowOf;
using torch::Tensor;

std::unique_ptr<AlgorithmTrainee> IqlOf(const std::string& keys, const EnvironmentSpec& environment) {
  const std::string network = "{torso: [{type: mlp, units: [5], activation: tanh}]}";
  return testing::TraineeOn(
      "{actor: " + network + ", critic: " + network + ", value: " + network + "}\nreplay: {import: episodes}",
      "name: iql, " + keys, environment, torch::kFloat64, 1);
}

// The critics' values of a row's recorded action.
Tensor Taken(const NetView& critic, const TensorBatch& batch, int64_t row) {
  const Observations now = RowOf(batch, kObservation, row);
  return critic.plan().takes_action ? critic(now, batch.at(kAction).narrow(0, row, 1)).value().select(1, 0)
                                    : critic(now).q().select(1, 0).select(1, batch.at(kAction)[row].item<int64_t>());
}

TEST_CASE("iql's losses are those of the paper, row by row, and their gradients finite differences", "[unit]") {
  for (const SpaceLeaf& action : {Box("action", DType::kFloat32, {2}, -1, 1), Discrete("action", 4)}) {
    const EnvironmentSpec environment = testing::EnvironmentOf(3, action);
    const auto trainee =
        IqlOf("expectile: 0.7, temperature: 0.5, max_advantage_weight: 1.2, discount: 0.9", environment);
    testing::MoveTargets(trainee.get());
    constexpr int64_t kRows = 8;
    const TensorBatch batch = RandomTransitions(environment, kRows, 3);
    const Net& actor = trainee->model().net("actor");
    const Net& critic = trainee->model().net("critic");
    const Net& value = trainee->model().net("value");
    double critic_loss = 0, value_loss = 0, actor_loss = 0, below = 0, most = 0;
    for (int64_t row = 0; row < kRows; ++row) {
      const Observations now = RowOf(batch, kObservation, row);
      const double least = Taken(critic.target(), batch, row).min().item<double>();
      const double advantage = least - value(now).value()[0].item<double>();
      value_loss += (advantage < 0 ? 0.3 : 0.7) * advantage * advantage / kRows;
      below += advantage < 0 ? 1 : 0;
      const double share = std::min(std::exp(advantage / 0.5), 1.2);
      most = std::max(most, share);
      const Tensor log_prob = actor(now).policy().LogProb(batch.at(kAction).narrow(0, row, 1));
      actor_loss -= share * log_prob[0].item<double>() / kRows;
      double target = batch.at(kReward)[row][0].item<double>();
      if (row % 3 != 0) {
        target += 0.9 * value(RowOf(batch, "next_observation", row)).value()[0].item<double>();
      }
      for (int64_t member = 0; member < 2; ++member) {
        critic_loss +=
            std::pow(Taken(NetView(&critic.network()), batch, row)[member].item<double>() - target, 2) / kRows;
      }
    }
    REQUIRE((below > 0 && below < kRows));  // Both sides of the expectile,
    REQUIRE(most == 1.2);                   // and the largest weight.
    CaptureStepper stepper;
    const UpdateResult result = testing::Updated(trainee.get(), batch, &stepper);
    CHECK(Metric(result, "value_loss") == Approx(value_loss));
    CHECK(Metric(result, "actor_loss") == Approx(actor_loss));
    CHECK(Metric(result, "critic_loss") == Approx(critic_loss));
    testing::CheckGradients(trainee.get(), {actor.group(), critic.group(), value.group()}, batch);
    testing::CheckTargetFollows(trainee.get(), "critic", batch, 0.005);
  }
}

}  // namespace
}  // namespace waggle
