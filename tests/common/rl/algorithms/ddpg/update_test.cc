#include <cmath>

#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using testing::Metric;
using testing::RandomTransitions;
using testing::TraineeOf;
using testing::Updated;

EnvironmentSpec Environment() {
  return testing::EnvironmentOf(3, Box("action", DType::kFloat32, {2}, -1, 1));
}

std::vector<ParameterGroup*> Groups(AlgorithmTrainee* trainee) {
  return {trainee->model().net("actor").group(), trainee->model().net("critic").group()};
}

// Makes targets differ from what they follow.
void MoveTargets(AlgorithmTrainee* trainee) {
  for (const char* const name : {"actor", "critic"}) {
    torch::Tensor values = trainee->model().net(name).target_network()->parameters().values();
    values.mul_(0.5).add_(0.1);
  }
}

TEST_CASE("DDPG's losses are those of a loop over rows", "[unit]") {
  const auto trainee = TraineeOf("name: ddpg, discount: 0.9, importance_exponent: 0.5", Environment());
  MoveTargets(trainee.get());
  const TensorBatch batch = RandomTransitions(Environment(), 7, 3);
  const Net& actor = trainee->model().net("actor");
  const Net& critic = trainee->model().net("critic");
  const torch::Tensor probability = batch.at(kItemProbability);
  double critic_loss = 0;
  double actor_loss = 0;
  for (int64_t row = 0; row < 7; ++row) {
    const Observations now = {batch.at(kObservation).narrow(0, row, 1)};
    const Observations next = {batch.at("next_observation").narrow(0, row, 1)};
    double target = batch.at(kReward)[row][0].item<double>();
    if (row % 3 != 0) {
      target += 0.9 * critic.target()(next, actor.target()(next).action()).value().item<double>();
    }
    const double error = critic(now, batch.at(kAction).narrow(0, row, 1)).value().item<double>() - target;
    const double weight = std::sqrt((probability.min() / probability[row]).item<double>());
    critic_loss += weight * error * error / 7;
    actor_loss -= weight * critic(now, actor(now).action()).value().item<double>() / 7;
  }
  CaptureStepper stepper;
  const UpdateResult result = Updated(trainee.get(), batch, &stepper);
  CHECK(Metric(result, "critic_loss") == Approx(critic_loss));
  CHECK(Metric(result, "actor_loss") == Approx(actor_loss));
}

TEST_CASE("DDPG's gradients are finite differences of its losses", "[unit]") {
  const auto trainee = TraineeOf("name: ddpg", Environment());
  MoveTargets(trainee.get());
  testing::CheckGradients(trainee.get(), Groups(trainee.get()), RandomTransitions(Environment(), 6, 4));
}

TEST_CASE("DDPG steps the critic, then the actor, and each loss reaches its own network alone", "[unit]") {
  const auto trainee = TraineeOf("name: ddpg", Environment());
  testing::IsolationStepper stepper(Groups(trainee.get()));
  Updated(trainee.get(), RandomTransitions(Environment(), 6, 5), &stepper);
  CHECK(stepper.steps() == std::vector<std::string>{"critic", "actor"});
}

TEST_CASE("DDPG's targets follow after steps alone", "[unit]") {
  for (const char* const network : {"actor", "critic"}) {
    const auto trainee = TraineeOf("name: ddpg, target_update_rate: 0.25", Environment());
    MoveTargets(trainee.get());
    testing::CheckTargetFollows(trainee.get(), network, RandomTransitions(Environment(), 6, 6), 0.25);
  }
}

// A step that ends the episode, of reward -|a - (0.5, -0.3)|².
TEST_CASE("DDPG finds the best action of a quadratic reward", "[unit]") {
  const auto trainee =
      TraineeOf("name: ddpg, actor_optimizer: {learning_rate: 0.01}, critic_optimizer: {learning_rate: 0.01}",
                Environment(), torch::kFloat64, 1, 32);
  const torch::Tensor best = torch::tensor({0.5, -0.3}, torch::kFloat64);
  LocalStepper stepper;
  for (uint64_t step = 0; step < 1500; ++step) {
    TensorBatch batch = RandomTransitions(Environment(), 32, step);
    batch.fields[kDiscount].zero_();
    batch.fields[kReward] = -(batch.at(kAction) - best).square().sum(1, true).expand({32, 2});
    Updated(trainee.get(), batch, &stepper);
  }
  const torch::Tensor seen = RandomTransitions(Environment(), 32, 9999).at(kObservation);
  const torch::Tensor error = trainee->model().net("actor")({seen}).action() - best;
  CHECK(error.abs().mean().item<double>() < 0.1);
}

}  // namespace
}  // namespace waggle
