#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/rl/algorithms/mpo/e_step.h"
#include "common/rl/kit/noise.h"
#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using testing::Metric;
using testing::RandomTransitions;
using testing::TraineeOf;
using testing::Updated;
using torch::Tensor;

constexpr int64_t kRows = 7;

EnvironmentSpec Real() {
  return testing::EnvironmentOf(3, Box("action", DType::kFloat32, {2}, -1, 1));
}

// With some illegal choices.
EnvironmentSpec Choices() {
  EnvironmentSpec environment = testing::EnvironmentOf(3, Discrete("action", 4));
  environment.observations.push_back(MultiBinary("action_mask", {4}));
  return environment;
}

// With a mask, the taken first choice is legal in every row, and each other one in every second row.
TensorBatch BatchOf(const EnvironmentSpec& environment, uint64_t seed) {
  TensorBatch batch = RandomTransitions(environment, kRows, seed);
  if (environment.observations.size() > 1) {
    batch.fields[kAction].zero_();
    for (const char* const name : {"action_mask", "next_action_mask"}) {
      Tensor mask = (torch::arange(kRows * 4).view({kRows, 4}) / 2).floor().remainder(2) == 0;
      mask.select(1, 0).fill_(true);
      batch.fields[name] = mask;
    }
  }
  return batch;
}

// Makes the targets differ from what they follow, and the multipliers from 1.
std::unique_ptr<AlgorithmTrainee> Moved(const std::string& algorithm, const EnvironmentSpec& environment) {
  std::unique_ptr<AlgorithmTrainee> trainee = TraineeOf(algorithm, environment);
  for (const char* const name : {"actor", "critic"}) {
    Tensor values = trainee->model().net(name).target_network()->parameters().values();
    values.mul_(0.8).add_(0.05);
  }
  for (const ScalarNeed& scalar : trainee->plan().algorithm.scalars) {
    Tensor value = trainee->model().scalar(scalar.name)->parameters().values();
    value.fill_(scalar.name == "log_stddev_multiplier" ? 0.4 : -0.7);
  }
  return trainee;
}

Observations RowOf(const EnvironmentSpec& environment, const TensorBatch& batch, const std::string& prefix,
                   int64_t row) {
  Observations observation;
  for (const SpaceLeaf& leaf : environment.observations) {
    observation.push_back(batch.at(prefix + leaf.array.name).narrow(0, row, 1));
  }
  return observation;
}

double Weight(const TensorBatch& batch, int64_t row) {
  const Tensor& probability = batch.at(kItemProbability);
  return std::sqrt((probability.min() / probability[row]).item<double>());
}

double TargetOf(const TensorBatch& batch, int64_t row, double next_value) {
  return batch.at(kReward)[row][0].item<double>() + (row % 3 == 0 ? 0 : 0.9 * next_value);
}

// Means and deviations of one row.
struct Normals {
  Normals(const Network& actor, const Observations& observation) {
    const Tensor outputs = actor.Forward(observation)[0].values[0];
    for (int64_t i = 0; i < 2; ++i) {
      mean.push_back(outputs[i].item<double>());
      stddev.push_back(std::exp(std::clamp(outputs[2 + i].item<double>(), -20.0, 2.0)));
    }
  }
  std::vector<double> mean, stddev;
};

double LogDensity(double u, double mean, double stddev) {
  return -0.5 * std::pow((u - mean) / stddev, 2) - std::log(stddev) - 0.5 * std::log(2 * M_PI);
}

TEST_CASE("MPO's losses of real actions are those of a loop over rows", "[unit]") {
  const auto trainee = Moved(
      "name: mpo, discount: 0.9, importance_exponent: 0.5, samples: 3, mean_divergence: 0.02, stddev_divergence: 0.003",
      Real());
  const TensorBatch batch = BatchOf(Real(), 3);
  const Net& actor = trainee->model().net("actor");
  const Net& critic = trainee->model().net("critic");
  Noise draws(Rng::Split(1, "algorithm", 0).Next(), torch::kCPU);
  double critic_loss = 0, actor_loss = 0, mean_divergence = 0, stddev_divergence = 0;
  // The drawn actions before tanh, [3, rows, 2], and their values, [rows, 3].
  Tensor drawn, q;
  for (const std::string prefix : {"next_", ""}) {
    drawn = torch::stack({draws.NormalLike(batch.at(kAction)), draws.NormalLike(batch.at(kAction)),
                          draws.NormalLike(batch.at(kAction))});
    q = torch::zeros({kRows, 3}, torch::kFloat64);
    for (int64_t row = 0; row < kRows; ++row) {
      const Observations observation = RowOf(Real(), batch, prefix, row);
      const Normals target(*actor.target_network(), observation);
      for (int64_t k = 0; k < 3; ++k) {
        for (size_t i = 0; i < 2; ++i) {
          Tensor u = drawn[k][row][static_cast<int64_t>(i)];
          u.mul_(target.stddev[i]).add_(target.mean[i]);
        }
        q[row][k] = critic.target()(observation, drawn[k].narrow(0, row, 1).tanh()).value()[0];
      }
      if (prefix == "next_") {
        const double taken =
            critic(RowOf(Real(), batch, "", row), batch.at(kAction).narrow(0, row, 1)).value()[0].item<double>();
        critic_loss +=
            Weight(batch, row) * std::pow(taken - TargetOf(batch, row, q[row].mean().item<double>()), 2) / kRows;
      }
    }
  }
  const Tensor prior = torch::full_like(q, -std::log(3.0));
  const double temperature = BestTemperature(q, prior, 0.1).item<double>();
  for (int64_t row = 0; row < kRows; ++row) {
    const Observations observation = RowOf(Real(), batch, "", row);
    const Normals target(*actor.target_network(), observation);
    const Normals now(actor.network(), observation);
    const double sum = (q[row] / temperature).exp().sum().item<double>();
    double loss = 0, by_mean = 0, by_stddev = 0;
    for (size_t i = 0; i < 2; ++i) {
      for (int64_t k = 0; k < 3; ++k) {
        const double u = drawn[k][row][static_cast<int64_t>(i)].item<double>();
        loss -= std::exp(q[row][k].item<double>() / temperature) / sum *
                (LogDensity(u, now.mean[i], target.stddev[i]) + LogDensity(u, target.mean[i], now.stddev[i]));
      }
      const double ratio = target.stddev[i] / now.stddev[i];
      by_mean += 0.5 * std::pow((now.mean[i] - target.mean[i]) / target.stddev[i], 2);
      by_stddev += 0.5 * (ratio * ratio - 1) - std::log(ratio);
    }
    actor_loss += Weight(batch, row) * (loss + std::exp(-0.7) * by_mean + std::exp(0.4) * by_stddev) / kRows;
    mean_divergence += by_mean / kRows;
    stddev_divergence += by_stddev / kRows;
  }
  CaptureStepper stepper;
  const UpdateResult result = Updated(trainee.get(), batch, &stepper);
  CHECK(Metric(result, "temperature") == Approx(temperature));
  CHECK(Metric(result, "critic_loss") == Approx(critic_loss));
  CHECK(Metric(result, "actor_loss") == Approx(actor_loss));
  CHECK(Metric(result, "log_mean_multiplier_loss") == Approx(-0.7 * (0.02 - mean_divergence)));
  CHECK(Metric(result, "log_stddev_multiplier_loss") == Approx(0.4 * (0.003 - stddev_divergence)));
}

TEST_CASE("MPO's losses of choices are those of a loop over rows, without impossible choices", "[unit]") {
  const auto trainee = Moved("name: mpo, discount: 0.9, importance_exponent: 0.5, policy_divergence: 0.02", Choices());
  const TensorBatch batch = BatchOf(Choices(), 5);
  const Net& actor = trainee->model().net("actor");
  const Net& critic = trainee->model().net("critic");
  double critic_loss = 0, actor_loss = 0, divergence = 0;
  Tensor q = torch::zeros({kRows, 4}, torch::kFloat64);
  Tensor log_prior = torch::full({kRows, 4}, -1e9, torch::kFloat64);
  for (const std::string prefix : {"next_", ""}) {
    for (int64_t row = 0; row < kRows; ++row) {
      const Observations observation = RowOf(Choices(), batch, prefix, row);
      const Tensor logits = actor.target_network()->Forward(observation)[0].values[0];
      const Tensor legal = batch.at(prefix + "action_mask")[row];
      const double sum = (logits.exp() * legal).sum().item<double>();
      const Tensor values = critic.target_network()->Forward(observation)[0].values[0];
      const double value = (logits.exp() * legal * values).sum().item<double>() / sum;
      for (int64_t a = 0; a < 4; ++a) {
        log_prior[row][a] = legal[a].item<bool>() ? logits[a].item<double>() - std::log(sum) : -1e9;
        q[row][a] = legal[a].item<bool>() ? values[a].item<double>() : value;
      }
      if (prefix == "next_") {
        const double taken = critic(RowOf(Choices(), batch, "", row)).q()[0][0].item<double>();
        critic_loss += Weight(batch, row) * std::pow(taken - TargetOf(batch, row, value), 2) / kRows;
      }
    }
  }
  const double temperature = BestTemperature(q, log_prior, 0.1).item<double>();
  for (int64_t row = 0; row < kRows; ++row) {
    const Tensor logits = actor.network().Forward(RowOf(Choices(), batch, "", row))[0].values[0];
    const double sum = (logits.exp() * batch.at("action_mask")[row]).sum().item<double>();
    const double weights = (log_prior[row] + q[row] / temperature).exp().sum().item<double>();
    double loss = 0, moved = 0;
    for (int64_t a = 0; a < 4; ++a) {
      const double prior = std::exp(log_prior[row][a].item<double>());
      if (prior > 0) {
        const double log_prob = logits[a].item<double>() - std::log(sum);
        loss -= prior * std::exp(q[row][a].item<double>() / temperature) / weights * log_prob;
        moved += prior * (std::log(prior) - log_prob);
      }
    }
    actor_loss += Weight(batch, row) * (loss + std::exp(-0.7) * moved) / kRows;
    divergence += moved / kRows;
  }
  CaptureStepper stepper;
  const UpdateResult result = Updated(trainee.get(), batch, &stepper);
  CHECK(Metric(result, "temperature") == Approx(temperature));
  CHECK(Metric(result, "critic_loss") == Approx(critic_loss));
  CHECK(Metric(result, "actor_loss") == Approx(actor_loss));
  CHECK(Metric(result, "log_multiplier_loss") == Approx(-0.7 * (0.02 - divergence)));
}

TEST_CASE("MPO's gradients are finite differences of its losses, and its targets follow", "[unit]") {
  for (const EnvironmentSpec& environment : {Real(), Choices()}) {
    const auto trainee = Moved("name: mpo, samples: 4, target_update_rate: 0.3", environment);
    std::vector<ParameterGroup*> groups = {trainee->model().net("actor").group(),
                                           trainee->model().net("critic").group()};
    for (const ScalarNeed& scalar : trainee->plan().algorithm.scalars) {
      groups.push_back(trainee->model().scalar(scalar.name)->group());
    }
    const TensorBatch batch = BatchOf(environment, 4);
    testing::CheckGradients(trainee.get(), groups, batch);
    testing::CheckTargetFollows(trainee.get(), "actor", batch, 0.3);
    testing::CheckTargetFollows(trainee.get(), "critic", batch, 0.3);
  }
}

}  // namespace
}  // namespace waggle
