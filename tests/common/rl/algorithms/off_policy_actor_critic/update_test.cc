#include <algorithm>
#include <cmath>
#include <string>

#include "common/base/random.h"
#include "common/rl/kit/noise.h"
#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using testing::Metric;
using testing::MoveTargets;
using testing::RandomTransitions;
using testing::TraineeOf;
using testing::Updated;

EnvironmentSpec Environment() {
  return testing::EnvironmentOf(3, Box("action", DType::kFloat32, {2}, -1, 1));
}

// DDPG has one critic and no noise.
TEST_CASE("DDPG's and TD3's losses are those of a loop over rows and dimensions", "[unit]") {
  for (const bool is_td3 : {false, true}) {
    INFO(is_td3);
    const auto trainee = TraineeOf(
        std::string(is_td3 ? "name: td3, policy_delay: 1, target_noise: 0.4, target_noise_clip: 0.3" : "name: ddpg") +
            ", discount: 0.9, importance_exponent: 0.5",
        Environment());
    MoveTargets(trainee.get());
    const TensorBatch batch = RandomTransitions(Environment(), 7, 3);
    const Net& actor = trainee->model().net("actor");
    const Net& critic = trainee->model().net("critic");
    const torch::Tensor probability = batch.at(kItemProbability);
    Noise draws(Rng::Split(1, "algorithm", 0).Next(), torch::kCPU);
    const torch::Tensor normal = draws.NormalLike(batch.at(kAction)) * (is_td3 ? 0.4 : 0);
    CHECK((normal.abs().max().item<double>() > 0.3) == is_td3);  // Something is clipped.
    double critic_loss = 0;
    double actor_loss = 0;
    for (int64_t row = 0; row < 7; ++row) {
      const Observations now = {batch.at(kObservation).narrow(0, row, 1)};
      const Observations next = {batch.at("next_observation").narrow(0, row, 1)};
      double target = batch.at(kReward)[row][0].item<double>();
      if (row % 3 != 0) {
        torch::Tensor action = actor.target()(next).action().detach().clone();
        for (int64_t i = 0; i < 2; ++i) {
          const double noise = std::clamp(normal[row][i].item<double>(), -0.3, 0.3);
          action[0][i] = std::clamp(action[0][i].item<double>() + noise, -1.0, 1.0);
        }
        target += 0.9 * critic.target()(next, action).value().min().item<double>();
      }
      const double weight = std::sqrt((probability.min() / probability[row]).item<double>());
      const torch::Tensor values = critic(now, batch.at(kAction).narrow(0, row, 1)).value().flatten();
      REQUIRE(values.numel() == (is_td3 ? 2 : 1));
      for (int64_t member = 0; member < values.numel(); ++member) {
        const double error = values[member].item<double>() - target;
        critic_loss += weight * error * error / 7;
      }
      actor_loss -= weight * critic(now, actor(now).action()).value().flatten()[0].item<double>() / 7;
    }
    CaptureStepper stepper;
    const UpdateResult result = Updated(trainee.get(), batch, &stepper);
    CHECK(Metric(result, "critic_loss") == Approx(critic_loss));
    CHECK(Metric(result, "actor_loss") == Approx(actor_loss));
  }
}

TEST_CASE("DDPG's and TD3's gradients are finite differences of their losses", "[unit]") {
  for (const char* const algorithm : {"name: ddpg", "name: td3, policy_delay: 1"}) {
    INFO(algorithm);
    const auto trainee = TraineeOf(algorithm, Environment());
    MoveTargets(trainee.get());
    testing::CheckGradients(trainee.get(),
                            {trainee->model().net("actor").group(), trainee->model().net("critic").group()},
                            RandomTransitions(Environment(), 6, 4));
  }
}

TEST_CASE("TD3's actor and targets change only in every policy_delay-th update", "[unit]") {
  const auto trainee = TraineeOf("name: td3, policy_delay: 3", Environment());
  const torch::Tensor target = trainee->model().net("critic").target_network()->parameters().values();
  const torch::Tensor actor = trainee->model().net("actor").group()->values();
  LocalStepper stepper;
  for (uint64_t update = 1; update <= 6; ++update) {
    const torch::Tensor target_before = target.clone();
    const torch::Tensor actor_before = actor.clone();
    Updated(trainee.get(), RandomTransitions(Environment(), 6, update), &stepper);
    CHECK(torch::equal(target, target_before) == (update % 3 != 0));
    CHECK(torch::equal(actor, actor_before) == (update % 3 != 0));
  }
}

TEST_CASE("targets of off-policy actor-critics follow by their rate", "[unit]") {
  for (const std::string algorithm : {"name: ddpg", "name: td3, policy_delay: 1", "name: sac"}) {
    for (const char* const network : {"actor", "critic"}) {
      const auto trainee = TraineeOf(algorithm + ", target_update_rate: 0.25", Environment());
      MoveTargets(trainee.get());
      if (trainee->model().net(network).target_network() != nullptr) {
        testing::CheckTargetFollows(trainee.get(), network, RandomTransitions(Environment(), 6, 6), 0.25);
      }
    }
  }
}

// A step that ends the episode, of reward -|a - (0.5, -0.3)|².
TEST_CASE("off-policy actor-critics find the best action of a quadratic reward, and SAC its target entropy", "[unit]") {
  for (const std::string algorithm : {"ddpg", "td3", "sac"}) {
    INFO(algorithm);
    const bool is_sac = algorithm == "sac";
    const auto trainee = TraineeOf(
        "name: " + algorithm + ", actor_optimizer: {learning_rate: 0.01}, critic_optimizer: {learning_rate: 0.01}" +
            (is_sac ? ", target_entropy: -3, temperature_optimizer: {learning_rate: 0.01}" : ""),
        Environment(), torch::kFloat64, 1, 32);
    const torch::Tensor best = torch::tensor({0.5, -0.3}, torch::kFloat64);
    LocalStepper stepper;
    double entropy = 0;
    for (uint64_t step = 0; step < 1500; ++step) {
      TensorBatch batch = RandomTransitions(Environment(), 32, step);
      batch.fields[kDiscount].zero_();
      batch.fields[kReward] = -(batch.at(kAction) - best).square().sum(1, true).expand({32, 2});
      const UpdateResult result = Updated(trainee.get(), batch, &stepper);
      entropy += is_sac && step >= 1000 ? Metric(result, "entropy") / 500 : 0;
    }
    const torch::Tensor seen = RandomTransitions(Environment(), 32, 9999).at(kObservation);
    const Output out = trainee->model().net("actor")({seen});
    CHECK(((is_sac ? out.policy().Mode() : out.action()) - best).abs().mean().item<double>() < 0.1);
    CHECK(entropy == Approx(is_sac ? -3 : 0).margin(0.3));
  }
}

}  // namespace
}  // namespace waggle
