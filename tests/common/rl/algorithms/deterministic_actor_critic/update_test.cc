#include "common/rl/algorithms/deterministic_actor_critic/update.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using testing::Metric;
using testing::MoveTargets;
using testing::RandomTransitions;
using testing::RowOf;
using testing::TraineeOf;
using testing::Updated;
using torch::Tensor;

EnvironmentSpec Real() {
  return testing::EnvironmentOf(3, Box("action", DType::kFloat32, {2}, -1, 1));
}

EnvironmentSpec Choice() {
  return testing::EnvironmentOf(3, Discrete("action", 4));
}

TEST_CASE("with choices critics take the taken one as one-hot, and all probabilities of the actor", "[unit]") {
  const auto trainee = TraineeOf("name: ddpg, critics: 3, discount: 0.9, action_penalty: 0.3", Choice());
  MoveTargets(trainee.get());
  const TensorBatch batch = RandomTransitions(Choice(), 7, 3);
  const Net& actor = trainee->model().net("actor");
  const Net& critic = trainee->model().net("critic");
  const Tensor probability = batch.at(kItemProbability);
  double critic_loss = 0;
  double actor_loss = 0;
  for (int64_t row = 0; row < 7; ++row) {
    const Observations now = RowOf(batch, kObservation, row);
    double target = batch.at(kReward)[row][0].item<double>();
    if (row % 3 != 0) {
      const Observations next = RowOf(batch, "next_observation", row);
      const Tensor action = actor.target()(next).policy().LogProbabilities().exp();
      target += 0.9 * critic.target()(next, {}, {action}).value().min().item<double>();
    }
    Tensor taken = torch::zeros({1, 4}, torch::kFloat64);
    taken[0][batch.at(kAction)[row].item<int64_t>()] = 1;
    // The exponent of importance weights begins at 0.4.
    const double weight = std::pow((probability.min() / probability[row]).item<double>(), 0.4);
    const Tensor values = critic(now, {}, {taken}).value().flatten();
    REQUIRE(values.numel() == 3);
    for (int64_t member = 0; member < 3; ++member) {
      critic_loss += weight * std::pow(values[member].item<double>() - target, 2) / 7;
    }
    const Tensor action = actor(now).policy().LogProbabilities().exp();
    double penalty = 0;
    for (int64_t choice = 0; choice < 4; ++choice) {
      penalty += 0.3 * std::pow(action[0][choice].item<double>(), 2);
    }
    actor_loss += weight * (penalty - critic(now, {}, {action}).value().min().item<double>()) / 7;
  }
  CaptureStepper stepper;
  const UpdateResult result = Updated(trainee.get(), batch, &stepper);
  CHECK(Metric(result, "critic_loss") == Approx(critic_loss));
  CHECK(Metric(result, "actor_loss") == Approx(actor_loss));
}

TEST_CASE("gradients of deterministic actor-critics are finite differences of their losses", "[unit]") {
  for (const auto& [algorithm, environment] :
       std::vector<std::pair<std::string, EnvironmentSpec>>{{"name: ddpg, action_penalty: 0.5, critics: 2", Real()},
                                                            {"name: ddpg, action_penalty: 0.5", Choice()},
                                                            {"name: ddpg, action_gradient_clip: 1e5", Real()},
                                                            {"name: hddpg", Real()},
                                                            {"name: d4pg, atoms: 5, low: -3, high: 3", Real()}}) {
    INFO(algorithm);
    const auto trainee = TraineeOf(algorithm, environment);
    MoveTargets(trainee.get());
    testing::CheckGradients(trainee.get(),
                            {trainee->model().net("actor").group(), trainee->model().net("critic").group()},
                            RandomTransitions(environment, 6, 4));
  }
}

TEST_CASE("the gradient by the action is cut at the same bound for every row's weight", "[unit]") {
  const TensorBatch batch = RandomTransitions(Real(), 6, 4);
  const auto gradient = [&](const std::string& clip) {
    const auto trainee = TraineeOf("name: ddpg" + clip, Real());
    CaptureStepper stepper;
    Updated(trainee.get(), batch, &stepper);
    return stepper.gradients().at("actor").clone();
  };
  // The reference: each row's derivatives by its action, cut, and then through the actor.
  const auto trainee = TraineeOf("name: ddpg", Real());
  const Net& actor = trainee->model().net("actor");
  const Tensor probability = batch.at(kItemProbability);
  Tensor surrogate = torch::zeros({}, torch::kFloat64);
  bool cut = false;
  for (int64_t row = 0; row < 6; ++row) {
    const Observations now = RowOf(batch, kObservation, row);
    const Tensor action = actor(now).action();
    const Tensor leaf = action.detach().clone().set_requires_grad(true);
    trainee->model().net("critic")(now, leaf).value().sum().backward();
    cut = cut || leaf.grad().abs().max().item<double>() > 0.1;
    const double weight = std::pow((probability.min() / probability[row]).item<double>(), 0.4);
    surrogate = surrogate - weight / 6 * (leaf.grad().clamp(-0.1, 0.1) * action).sum();
  }
  REQUIRE(cut);
  ParameterGroup* const group = actor.group();
  group->gradients().zero_();
  torch::autograd::backward({surrogate}, {}, c10::nullopt, false, group->parameters().leaves());
  CHECK(torch::allclose(gradient(", action_gradient_clip: 0.1"), group->gradients()));
  CHECK_FALSE(torch::allclose(gradient(""), group->gradients()));
}

}  // namespace
}  // namespace waggle
