// The updates of soft actor-critics other than SAC itself.

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
using testing::TraineeOf;
using testing::Updated;
using torch::Tensor;

EnvironmentSpec Environment() {
  return testing::EnvironmentOf(3, Box("action", DType::kFloat32, {2}, -1, 1));
}

const std::vector<std::string>& Algorithms() {
  static const auto* const algorithms = new std::vector<std::string>{
      "name: tqc, critics: 3, quantiles: 4, dropped: 1", "name: qr_sac, quantiles: 4",
      "name: qr_sac, quantiles: 4, least: quantile", "name: redq, critics: 4, policy_delay: 1"};
  return *algorithms;
}

// Makes the critics' targets differ from what they follow, and the temperature from 1.
void Move(AlgorithmTrainee* trainee) {
  Tensor values = trainee->model().net("critic").target_network()->parameters().values();
  values.mul_(0.5).add_(0.1);
  Tensor temperature = trainee->model().scalar("log_temperature")->parameters().values();
  temperature.fill_(-0.7);
}

TEST_CASE("gradients of soft actor-critics are finite differences of their losses", "[unit]") {
  for (const std::string& algorithm : Algorithms()) {
    INFO(algorithm);
    const auto trainee = TraineeOf(algorithm, Environment());
    Move(trainee.get());
    testing::CheckGradients(trainee.get(),
                            {trainee->model().net("actor").group(), trainee->model().net("critic").group(),
                             trainee->model().scalar("log_temperature")->group()},
                            RandomTransitions(Environment(), 5, 4));
  }
}

TEST_CASE("targets of soft actor-critics follow by their rate", "[unit]") {
  for (const std::string& algorithm : Algorithms()) {
    INFO(algorithm);
    const auto trainee = TraineeOf(algorithm + ", target_update_rate: 0.25", Environment());
    Move(trainee.get());
    testing::CheckTargetFollows(trainee.get(), "critic", RandomTransitions(Environment(), 5, 4), 0.25);
  }
}

// The actions that an update's first draw takes in the next observations.
SampledAction NextActions(const AlgorithmTrainee& trainee, const TensorBatch& batch, Noise* draws) {
  const torch::NoGradGuard no_grad;
  return const_cast<AlgorithmTrainee&>(trainee)
      .model()
      .net("actor")({batch.at("next_observation")})
      .policy()
      .Sample(draws);
}

TEST_CASE("the critics' losses of TQC and QR-SAC are those of a loop over quantiles", "[unit]") {
  struct Case {
    const char* algorithm;
    int64_t critics;
    size_t dropped;  // Quantiles that are left out of the target.
  };
  for (const Case& one :
       {Case{"name: tqc, critics: 3, quantiles: 4, dropped: 1", 3, 3}, Case{"name: qr_sac, quantiles: 4", 2, 0}}) {
    INFO(one.algorithm);
    const auto trainee =
        TraineeOf(std::string(one.algorithm) + ", discount: 0.9, importance_exponent: 0", Environment());
    Move(trainee.get());
    const TensorBatch batch = RandomTransitions(Environment(), 4, 3);
    Noise draws(Rng::Split(1, "algorithm", 0).Next(), torch::kCPU);
    const SampledAction next = NextActions(*trainee, batch, &draws);
    const Net& critic = trainee->model().net("critic");
    const Tensor all = critic.target()({batch.at("next_observation")}, next.action).quantiles("value").detach();
    const Tensor own = critic({batch.at(kObservation)}, batch.at(kAction)).quantiles("value").detach();
    double loss = 0;
    for (int64_t row = 0; row < 4; ++row) {
      std::vector<double> kept;
      int64_t least = 0;
      for (int64_t critic_index = 0; critic_index < one.critics; ++critic_index) {
        const bool less = all[critic_index][row].mean().item<double>() < all[least][row].mean().item<double>();
        least = less ? critic_index : least;
      }
      for (int64_t critic_index = 0; critic_index < one.critics; ++critic_index) {
        for (int64_t i = 0; i < 4 && (one.dropped > 0 || critic_index == least); ++i) {
          kept.push_back(all[critic_index][row][i].item<double>());
        }
      }
      std::sort(kept.begin(), kept.end());
      kept.resize(kept.size() - one.dropped);
      for (double& value : kept) {
        value -= std::exp(-0.7) * next.log_prob[row].item<double>();
        value = batch.at(kReward)[row][0].item<double>() + (row % 3 == 0 ? 0 : 0.9 * value);
      }
      for (int64_t critic_index = 0; critic_index < one.critics; ++critic_index) {
        for (int64_t i = 0; i < 4; ++i) {
          for (const double target : kept) {
            const double error = target - own[critic_index][row][i].item<double>();
            const double size = std::abs(error);
            const double huber = size <= 1 ? 0.5 * error * error : size - 0.5;
            const double fraction = (static_cast<double>(i) + 0.5) / 4;
            loss += std::abs(fraction - (error < 0 ? 1 : 0)) * huber / static_cast<double>(kept.size()) / 4 / 4;
          }
        }
      }
    }
    CaptureStepper stepper;
    CHECK(Metric(Updated(trainee.get(), batch, &stepper), "critic_loss") == Approx(loss));
  }
}

TEST_CASE("REDQ's target is the least of the critics that are drawn for it, and its actor waits", "[unit]") {
  const auto trainee =
      TraineeOf("name: redq, critics: 4, policy_delay: 3, discount: 0.9, importance_exponent: 0", Environment());
  Move(trainee.get());
  const TensorBatch batch = RandomTransitions(Environment(), 4, 3);
  Noise draws(Rng::Split(1, "algorithm", 0).Next(), torch::kCPU);
  const SampledAction next = NextActions(*trainee, batch, &draws);
  const Tensor drawn = draws.Permutation(4).narrow(0, 0, 2);
  double loss = 0;
  {
    const torch::NoGradGuard no_grad;
    const Net& critic = trainee->model().net("critic");
    const Tensor all = critic.target()({batch.at("next_observation")}, next.action).value();
    const Tensor own = critic({batch.at(kObservation)}, batch.at(kAction)).value();
    for (int64_t row = 0; row < 4; ++row) {
      const double least = std::min(all[drawn[0].item<int64_t>()][row].item<double>(),
                                    all[drawn[1].item<int64_t>()][row].item<double>());
      const double soft = least - std::exp(-0.7) * next.log_prob[row].item<double>();
      const double target = batch.at(kReward)[row][0].item<double>() + (row % 3 == 0 ? 0 : 0.9 * soft);
      for (int64_t member = 0; member < 4; ++member) {
        loss += std::pow(own[member][row].item<double>() - target, 2) / 4;
      }
    }
  }
  const Tensor actor = trainee->model().net("actor").group()->values();
  LocalStepper stepper;
  for (int update = 1; update <= 6; ++update) {
    const Tensor before = actor.clone();
    const UpdateResult result = Updated(trainee.get(), batch, &stepper);
    CHECK((update > 1 || Metric(result, "critic_loss") == Approx(loss)));
    CHECK(torch::equal(actor, before) == (update % 3 != 0));
  }
}

// A step that ends the episode, of reward -|a - (0.5, -0.3)|².
TEST_CASE("soft actor-critics find the best action of a quadratic reward, and their target entropy", "[unit]") {
  for (const std::string& algorithm : Algorithms()) {
    INFO(algorithm);
    const auto trainee = TraineeOf(algorithm +
                                       ", actor_optimizer: {learning_rate: 0.01}, critic_optimizer: {learning_rate: "
                                       "0.01}, target_entropy: -3, temperature_optimizer: {learning_rate: 0.01}",
                                   Environment(), torch::kFloat64, 1, 32);
    const Tensor best = torch::tensor({0.5, -0.3}, torch::kFloat64);
    LocalStepper stepper;
    double entropy = 0;
    for (uint64_t step = 0; step < 1500; ++step) {
      TensorBatch batch = RandomTransitions(Environment(), 32, step);
      batch.fields[kDiscount].zero_();
      batch.fields[kReward] = -(batch.at(kAction) - best).square().sum(1, true).expand({32, 2});
      const UpdateResult result = Updated(trainee.get(), batch, &stepper);
      entropy += step >= 1000 ? Metric(result, "entropy") / 500 : 0;
    }
    const Tensor seen = RandomTransitions(Environment(), 32, 9999).at(kObservation);
    const Tensor mode = trainee->model().net("actor")({seen}).policy().Mode();
    CHECK((mode - best).abs().mean().item<double>() < 0.15);
    CHECK(entropy == Approx(-3).margin(0.3));
  }
}

}  // namespace
}  // namespace waggle
