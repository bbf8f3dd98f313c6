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
using testing::Updated;
using torch::Tensor;

EnvironmentSpec Environment() {
  return testing::EnvironmentOf(3, Box("action", DType::kFloat32, {2}, -1, 1));
}

// A norm, a smooth layer and a norm in each network.
std::unique_ptr<AlgorithmTrainee> Trainee(const std::string& keys, int64_t units = 4) {
  const std::string norm = "{type: batch_norm, rate: 0.1}";
  const std::string torso =
      "{torso: [" + norm + ", {type: mlp, units: [" + std::to_string(units) + "], activation: tanh}, " + norm + "]}";
  return testing::TraineeOn("{actor: " + torso + ", critic: " + torso + "}",
                            "name: crossq, " + keys, Environment(), torch::kFloat64, 1);
}

Tensor Parameter(const Network& network, const std::string& name) {
  for (size_t i = 0; i < network.plan().parameters.size(); ++i) {
    if (network.plan().parameters[i].name == name) {
      return network.parameters().value_views()[i];
    }
  }
  FAIL("there is no " << name);
  return {};
}

// Without a bootstrap, through which the critics' parameters also move their target.
TEST_CASE("gradients of crossq are finite differences of its losses", "[unit]") {
  const auto trainee = Trainee("policy_delay: 1, discount: 0");
  testing::CheckGradients(trainee.get(),
                          {trainee->model().net("actor").group(), trainee->model().net("critic").group(),
                           trainee->model().scalar("log_temperature")->group()},
                          RandomTransitions(Environment(), 5, 4));
}

TEST_CASE("crossq's critics normalise both ends of the transitions as one batch", "[unit]") {
  const auto trainee = Trainee("discount: 0.9");
  const TensorBatch batch = RandomTransitions(Environment(), 4, 3);
  Noise draws(Rng::Split(1, "algorithm", 0).Next(), torch::kCPU);
  const torch::NoGradGuard no_grad;
  // After a terminal state there is the state before it.
  const Tensor ended = (torch::arange(4) % 3 == 0).unsqueeze(1);
  const Tensor to = torch::where(ended, batch.at(kObservation), batch.at("next_observation"));
  const SampledAction next = trainee->model().net("actor")({to}).policy().Sample(&draws);
  const Network& critic = trainee->model().net("critic").network();
  const Tensor input =
      torch::cat({torch::cat({batch.at(kObservation), batch.at(kAction)}, 1), torch::cat({to, next.action}, 1)});
  std::vector<Tensor> q;
  for (int64_t member = 0; member < 2; ++member) {
    const auto own = [&](const char* name) { return Parameter(critic, name)[member].clone(); };
    const auto norm = [&](const Tensor& x) { return torch::batch_norm(x, {}, {}, {}, {}, true, 0, 1e-3, false); };
    const Tensor hidden = torch::linear(norm(input), own("torso.1.linear1.weight"), own("torso.1.linear1.bias")).tanh();
    q.push_back(torch::linear(norm(hidden), own("heads.value.output.weight"), own("heads.value.output.bias")));
  }
  double loss = 0;
  for (int64_t row = 0; row < 4; ++row) {
    const double least = std::min(q[0][4 + row].item<double>(), q[1][4 + row].item<double>());
    const double soft = least - next.log_prob[row].item<double>();
    const double target = batch.at(kReward)[row][0].item<double>() + (row % 3 == 0 ? 0 : 0.9 * soft);
    for (const Tensor& own : q) {
      loss += 0.5 * std::pow(own[row].item<double>() - target, 2) / 4;
    }
  }
  const torch::AutoGradMode grad(true);
  LocalStepper stepper;
  CHECK(Metric(Updated(trainee.get(), batch, &stepper), "critic_loss") == Approx(loss));
  CHECK(torch::allclose(Parameter(critic, "torso.0.norm.mean")[1], 0.1 * input.mean(0)));
}

TEST_CASE("the actor's running statistics move with its own steps, and the published policy has them", "[unit]") {
  const auto trainee = Trainee("policy_delay: 3");
  const Tensor mean = Parameter(trainee->model().net("actor").network(), "torso.2.norm.mean");
  LocalStepper stepper;
  for (int update = 1; update <= 6; ++update) {
    const Tensor before = mean.clone();
    Updated(trainee.get(), RandomTransitions(Environment(), 5, static_cast<uint64_t>(update)), &stepper);
    CHECK(torch::equal(mean, before) == (update % 3 != 0));
  }
  const auto other = Trainee("");
  REQUIRE_OK(other->LoadPublished(testing::ValueOf(trainee->Publish())));
  CHECK(torch::allclose(Parameter(other->model().net("actor").network(), "torso.2.norm.mean"), mean, 1e-6, 1e-6));
}

// A step that ends the episode, of reward -|a - (0.5, -0.3)|².
TEST_CASE("crossq finds the best action of a quadratic reward by its running statistics", "[unit]") {
  const auto trainee = Trainee(
      "policy_delay: 1, actor_optimizer: {learning_rate: 0.01}, critic_optimizer: {learning_rate: 0.01}, "
      "target_entropy: -3, temperature_optimizer: {learning_rate: 0.01}",
      32);
  const Tensor best = torch::tensor({0.5, -0.3}, torch::kFloat64);
  LocalStepper stepper;
  for (uint64_t step = 0; step < 1500; ++step) {
    TensorBatch batch = RandomTransitions(Environment(), 32, step);
    batch.fields[kDiscount].zero_();
    batch.fields[kReward] = -(batch.at(kAction) - best).square().sum(1, true).expand({32, 2});
    Updated(trainee.get(), batch, &stepper);
  }
  const Tensor seen = RandomTransitions(Environment(), 32, 9999).at(kObservation);
  const Tensor mode = trainee->model().net("actor")({seen}).policy().Mode();
  CHECK((mode - best).abs().mean().item<double>() < 0.15);
}

}  // namespace
}  // namespace waggle
