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

TEST_CASE("critics of choices weigh their values by the actor's probabilities, and its logits are penalised",
          "[unit]") {
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
      const Tensor action = actor.target()(next).policy().LogProbabilities().exp()[0];
      target += 0.9 * critic.target()(next).vector("value").select(1, 0).mv(action).min().item<double>();
    }
    const auto taken = batch.at(kAction)[row].item<int64_t>();
    // The exponent of importance weights begins at 0.4.
    const double weight = std::pow((probability.min() / probability[row]).item<double>(), 0.4);
    const Tensor values = critic(now).vector("value").select(1, 0);
    REQUIRE(values.sizes().vec() == std::vector<int64_t>{3, 4});
    for (int64_t member = 0; member < 3; ++member) {
      critic_loss += weight * std::pow(values[member][taken].item<double>() - target, 2) / 7;
    }
    const Tensor logarithms = actor(now).policy().LogProbabilities()[0];
    double penalty = 0;
    for (int64_t choice = 0; choice < 4; ++choice) {
      penalty += 0.3 * std::pow((logarithms[choice] - logarithms.mean()).item<double>(), 2);
    }
    actor_loss += weight * (penalty - values.mv(logarithms.exp()).min().item<double>()) / 7;
  }
  CaptureStepper stepper;
  const UpdateResult result = Updated(trainee.get(), batch, &stepper);
  CHECK(Metric(result, "critic_loss") == Approx(critic_loss));
  CHECK(Metric(result, "actor_loss") == Approx(actor_loss));
}

// The actor's loss by its logits, for a penalty of 0.3. Choices that are not legal have no part in it.
double LossOfLegalChoices(AlgorithmTrainee* trainee, const TensorBatch& batch) {
  const Net& actor = trainee->model().net("actor");
  const Net& critic = trainee->model().net("critic");
  const Tensor probability = batch.at(kItemProbability);
  double loss = 0;
  for (int64_t row = 0; row < 6; ++row) {
    const Observations now = {batch.at(kObservation).narrow(0, row, 1), batch.at("action_mask").narrow(0, row, 1)};
    const Tensor logits = actor.network().Forward(now)[0].values[0];
    const Tensor q = critic.network().Forward(now)[0].values[0][0];
    std::vector<int64_t> legal;
    for (int64_t choice = 0; choice < 4; ++choice) {
      if (row == 0 || now[1][0][choice].item<bool>()) {
        legal.push_back(choice);
      }
    }
    double mean = 0, sum = 0;
    for (const int64_t choice : legal) {
      mean += logits[choice].item<double>() / static_cast<double>(legal.size());
      sum += std::exp(logits[choice].item<double>());
    }
    const double weight = std::pow((probability.min() / probability[row]).item<double>(), 0.4);
    for (const int64_t choice : legal) {
      const double logit = logits[choice].item<double>();
      loss += weight * (0.3 * std::pow(logit - mean, 2) - std::exp(logit) / sum * q[choice].item<double>()) / 6;
    }
  }
  return loss;
}

TEST_CASE("the penalty of choices is on the logits of legal ones, whose gradients are finite differences", "[unit]") {
  EnvironmentSpec environment = Choice();
  environment.observations.push_back(MultiBinary("action_mask", {4}));
  TensorBatch batch = RandomTransitions(environment, 6, 4);
  for (const char* const name : {"action_mask", "next_action_mask"}) {
    batch.fields[name] = (torch::arange(24).view({6, 4}) % 5) > 1;
    batch.fields[name][0].fill_(false);  // No legal choice is the same as four.
  }
  const auto trainee = TraineeOf("name: ddpg, critics: 1, action_penalty: 0.3", environment);
  Tensor values = trainee->model().net("actor").network().parameters().values();
  values.mul_(3);  // Away from uniform probabilities.
  MoveTargets(trainee.get());
  CaptureStepper stepper;
  CHECK(Metric(Updated(trainee.get(), batch, &stepper), "actor_loss") ==
        Approx(LossOfLegalChoices(trainee.get(), batch)));
  testing::CheckGradients(trainee.get(),
                          {trainee->model().net("actor").group(), trainee->model().net("critic").group()}, batch);
}

TEST_CASE("a saturated choice is drawn back by its penalty, for choices by default", "[unit]") {
  // The steepness of the loss by the weights: of a softmax that is certain, nothing but the penalty has any.
  const auto slope = [](const std::string& penalty) {
    const auto trainee = TraineeOf("name: ddpg" + penalty, Choice());
    Tensor values = trainee->model().net("actor").network().parameters().values();
    values.mul_(1e5);
    CaptureStepper stepper;
    Updated(trainee.get(), RandomTransitions(Choice(), 6, 4), &stepper);
    return stepper.gradients().at("actor").abs().max().item<double>();
  };
  CHECK(slope(", action_penalty: 0") < 1e-20);
  CHECK(slope("") > 1e-3);
  CHECK(slope(", action_penalty: 0.001") == slope(""));
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
