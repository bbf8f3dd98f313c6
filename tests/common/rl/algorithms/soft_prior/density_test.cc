#include "common/rl/algorithms/soft_prior/density.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/rl/kit/noise.h"
#include "tests/support/algorithm_checks.h"
#include "tests/support/finite_differences.h"

namespace waggle {
namespace {

using testing::Metric;
using testing::TraineeOf;
using testing::Updated;
using torch::Tensor;

// The same as LogTruncatedNormal: the normal's curve over the area below it, by thin strips.
double Reference(double x, double mean, double deviation) {
  constexpr int kStrips = 20'000;
  const auto curve = [&](double at) { return std::exp(-0.5 * std::pow((at - mean) / deviation, 2)); };
  double area = 0;
  for (int i = 0; i < kStrips; ++i) {
    area += curve(-1 + (i + 0.5) * 2 / kStrips) * 2 / kStrips;
  }
  return -0.5 * std::pow((x - mean) / deviation, 2) - std::log(area);
}

TEST_CASE("the density of a cut normal is its curve over the area between the cuts", "[unit]") {
  const std::vector<double> places = {-1, -0.3, 0, 0.75, 1};
  for (const double deviation : {0.02, 0.2, 2.0, 50.0}) {
    for (const double mean : places) {
      const Tensor density =
          LogTruncatedNormal(torch::tensor(places, torch::kFloat64), torch::tensor(mean, torch::kFloat64), deviation);
      for (size_t i = 0; i < places.size(); ++i) {
        INFO(places[i] << ", mean " << mean << ", deviation " << deviation);
        CHECK(density[static_cast<int64_t>(i)].item<double>() ==
              Approx(Reference(places[i], mean, deviation)).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("the gradient of a cut normal's density is its finite differences", "[unit]") {
  Tensor x = torch::tensor({-0.9, -0.2, 0.0, 0.6}, torch::kFloat64).requires_grad_();
  Tensor mean = torch::tensor({0.3, -0.4, 0.9, 0.5}, torch::kFloat64).requires_grad_();
  for (const double deviation : {0.2, 2.0}) {
    const auto sum = [&] { return LogTruncatedNormal(x, mean, deviation).sum(); };
    const std::vector<Tensor> gradients = torch::autograd::grad({sum()}, {x, mean});
    testing::CheckFiniteDifferences(x, gradients[0], [&] { return sum().item<double>(); });
    testing::CheckFiniteDifferences(mean, gradients[1], [&] { return sum().item<double>(); });
  }
}

SoftPriorOptions Prior(const std::string& type) {
  SoftPriorOptions options;
  options.type = type;
  return options;
}

// The same as LogPrior of one row, with the default options.
double Reference(const std::string& type, const Tensor& action, const Tensor& before, bool first) {
  double sum = 0;
  for (int64_t i = 0; i < action.size(0); ++i) {
    const auto x = action[i].item<double>();
    const double broad = Reference(x, 0, 2);
    if (type == "uniform") {
      sum -= std::log(2.0);
    } else if (type == "truncated_normal" || first) {
      sum += broad;
    } else {
      sum += std::log(0.1 * std::exp(broad) + 0.9 * std::exp(Reference(x, before[i].item<double>(), 0.2)));
    }
  }
  return sum;
}

TEST_CASE("a prior's density of an action is the product over elements, and at a first step has no action before",
          "[unit]") {
  torch::manual_seed(3);
  const Tensor action = torch::rand({4, 3}, torch::kFloat64) * 2 - 1;
  const Tensor before = (action + 0.2 * torch::randn({4, 3}, torch::kFloat64)).clamp(-1, 1);
  const Tensor first = torch::tensor({0, 1, 0, 1}).to(torch::kBool);
  for (const std::string type : {"uniform", "truncated_normal", "same_action"}) {
    INFO(type);
    const Tensor density = LogPrior(Prior(type), action, before, first);
    REQUIRE(density.sizes() == at::IntArrayRef{4});
    for (int64_t row = 0; row < 4; ++row) {
      CHECK(density[row].item<double>() ==
            Approx(Reference(type, action[row], before[row], first[row].item<bool>())).epsilon(1e-5));
    }
  }
}

TEST_CASE("a prior that always or never repeats the action is one density alone, with finite gradients", "[unit]") {
  Tensor action = torch::tensor({{-0.5}, {1.0}}, torch::kFloat64).requires_grad_();
  const Tensor before = torch::tensor({{-0.4}, {-1.0}}, torch::kFloat64);
  const Tensor first = torch::zeros({2}, torch::kBool);
  for (const double probability : {0.0, 1.0}) {
    SoftPriorOptions options = Prior("same_action");
    options.same_action_probability = probability;
    const Tensor density = LogPrior(options, action, before, first);
    for (int64_t row = 0; row < 2; ++row) {
      const double expected = probability == 0
                                  ? Reference(action[row][0].item<double>(), 0, 2)
                                  : Reference(action[row][0].item<double>(), before[row][0].item<double>(), 0.2);
      CHECK(density[row].item<double>() == Approx(expected).epsilon(1e-5));
    }
    CHECK(torch::isfinite(torch::autograd::grad({density.sum()}, {action})[0]).all().item<bool>());
  }
}

constexpr int64_t kSteps = 3;  // One of them is a burn-in of a sequence within an episode.
constexpr int64_t kRows = 3;

EnvironmentSpec Environment() {
  return testing::EnvironmentOf(3, Box("action", DType::kFloat32, {2}, -1, 1));
}

// Sequences: the first begins with its episode, the second ends at a terminal state, the third is longer.
TensorBatch Sequences() {
  torch::manual_seed(6);
  const auto random = [](std::vector<int64_t> sizes) { return torch::randn(sizes, torch::kFloat64); };
  TensorBatch batch;
  batch.size = kRows;
  batch.table_items = 1000;
  batch.fields[kObservation] = random({kRows, kSteps + 1, 3});
  batch.fields[kAction] = random({kRows, kSteps + 1, 2}).tanh();
  batch.fields[kReward] = random({kRows, kSteps + 1});
  batch.fields[kDiscount] = torch::ones({kRows, kSteps + 1}, torch::kFloat64);
  batch.fields[kStepType] = torch::ones({kRows, kSteps + 1}, torch::kInt32);
  batch.fields[kItemLength] = torch::full({kRows}, kSteps + 1, torch::kInt64);
  batch.fields[kItemProbability] = torch::full({kRows}, 1e-3, torch::kFloat64);
  batch.fields[kStepType][0][0] = static_cast<int32_t>(StepType::kFirst);
  batch.fields[kItemLength][1] = kSteps;
  batch.fields[kStepType][1][kSteps - 1] = static_cast<int32_t>(StepType::kLast);
  batch.fields[kDiscount][1][kSteps - 2] = 0;
  return batch;
}

void Move(AlgorithmTrainee* trainee) {
  testing::MoveTargets(trainee);
  Tensor temperature = trainee->model().scalar("log_temperature")->parameters().values();
  temperature.fill_(-0.7);
}

TEST_CASE("beside the prior of the same action SAC learns sequences by the losses of a loop over steps", "[unit]") {
  const auto trainee = TraineeOf(
      "name: sac, n_step: 2, discount: 0.9, importance_exponent: 0, target_divergence: 2, prior: {type: same_action}",
      Environment());
  Move(trainee.get());
  const TensorBatch batch = Sequences();
  const Net& actor = trainee->model().net("actor");
  const Net& critic = trainee->model().net("critic");
  Noise draws(Rng::Split(1, "algorithm", 0).Next(), torch::kCPU);
  const Tensor normal_next = draws.NormalLike(torch::empty({kSteps + 1, kRows, 2}, torch::kFloat64));
  const Tensor normal_now = draws.NormalLike(normal_next);
  const double alpha = std::exp(-0.7);
  double critic_loss = 0, actor_loss = 0, divergence = 0;
  int64_t learned = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    const int64_t steps = batch.at(kItemLength)[row].item<int64_t>() - 1;
    // Draws an action: alpha times minus the divergence, and the least critic's value.
    const auto drawn = [&](int64_t t, const Tensor& normal, const auto& critics) {
      const Observations shown = {batch.at(kObservation)[row][t].unsqueeze(0)};
      const Distribution policy = actor(shown).policy();
      const Tensor action = (policy.mean() + policy.stddev() * normal[t][row]).tanh();
      const Tensor before = t > 0 ? batch.at(kAction)[row][t - 1] : torch::zeros({2}, torch::kFloat64);
      const double own = policy.LogProb(action)[0].item<double>() - Reference("same_action", action[0], before, t == 0);
      return std::make_pair(own, critics(shown, action).value().min().template item<double>());
    };
    const auto soft = [&](int64_t t) {
      const auto [own, value] = drawn(t, normal_next, critic.target());
      return value - alpha * own;
    };
    for (int64_t t = row == 0 ? 0 : 1; t < steps; ++t) {
      const double discount = 0.9 * batch.at(kDiscount)[row][t].item<double>();
      double rest = soft(t + 1);
      if (t + 1 < steps) {  // The second reward.
        rest = batch.at(kReward)[row][t + 1].item<double>() +
               0.9 * batch.at(kDiscount)[row][t + 1].item<double>() * soft(t + 2);
      }
      const double target = batch.at(kReward)[row][t].item<double>() + discount * rest;
      const Tensor taken =
          critic({batch.at(kObservation)[row][t].unsqueeze(0)}, batch.at(kAction)[row][t].unsqueeze(0)).value();
      for (int64_t member = 0; member < 2; ++member) {
        critic_loss += 0.5 * std::pow(taken[member][0].item<double>() - target, 2);
      }
      const auto [own, value] = drawn(t, normal_now, critic);
      actor_loss += alpha * own - value;
      divergence += own;
      ++learned;
    }
  }
  CaptureStepper stepper;
  const UpdateResult result = Updated(trainee.get(), batch, &stepper);
  const auto count = static_cast<double>(learned);
  CHECK(learned == 6);
  CHECK(Metric(result, "critic_loss") == Approx(critic_loss / count).epsilon(1e-5));
  CHECK(Metric(result, "actor_loss") == Approx(actor_loss / count).epsilon(1e-5));
  CHECK(Metric(result, "entropy") == Approx(-divergence / count).epsilon(1e-5));
  CHECK(Metric(result, "log_temperature_loss") == Approx(-0.7 * (4 - divergence / count)).epsilon(1e-5));
}

TEST_CASE("beside a prior without memory SAC learns transitions by the losses of a loop over rows", "[unit]") {
  for (const std::string type : {"uniform", "truncated_normal"}) {
    INFO(type);
    const auto trainee =
        TraineeOf("name: sac, discount: 0.9, importance_exponent: 0, prior: {type: " + type + "}", Environment());
    Move(trainee.get());
    const TensorBatch batch = testing::RandomTransitions(Environment(), 7, 3);
    const Net& actor = trainee->model().net("actor");
    const Net& critic = trainee->model().net("critic");
    Noise draws(Rng::Split(1, "algorithm", 0).Next(), torch::kCPU);
    const Tensor normal_next = draws.NormalLike(batch.at(kAction));
    const Tensor normal_now = draws.NormalLike(batch.at(kAction));
    const double alpha = std::exp(-0.7);
    double critic_loss = 0, actor_loss = 0, divergence = 0;
    for (int64_t row = 0; row < 7; ++row) {
      const auto drawn = [&](const char* field, const Tensor& normal, const auto& critics) {
        const Observations shown = testing::RowOf(batch, field, row);
        const Distribution policy = actor(shown).policy();
        const Tensor action = (policy.mean() + policy.stddev() * normal[row]).tanh();
        return std::make_pair(policy.LogProb(action)[0].item<double>() - Reference(type, action[0], {}, false),
                              critics(shown, action).value().min().template item<double>());
      };
      const auto [next_own, next_value] = drawn("next_observation", normal_next, critic.target());
      const double target =
          batch.at(kReward)[row][0].item<double>() + (row % 3 == 0 ? 0 : 0.9 * (next_value - alpha * next_own));
      const Tensor taken =
          critic(testing::RowOf(batch, kObservation, row), batch.at(kAction).narrow(0, row, 1)).value();
      for (int64_t member = 0; member < 2; ++member) {
        critic_loss += 0.5 * std::pow(taken[member][0].item<double>() - target, 2) / 7;
      }
      const auto [own, value] = drawn(kObservation, normal_now, critic);
      actor_loss += (alpha * own - value) / 7;
      divergence += own / 7;
    }
    CaptureStepper stepper;
    const UpdateResult result = Updated(trainee.get(), batch, &stepper);
    CHECK(Metric(result, "critic_loss") == Approx(critic_loss).epsilon(1e-5));
    CHECK(Metric(result, "actor_loss") == Approx(actor_loss).epsilon(1e-5));
    CHECK(Metric(result, "log_temperature_loss") == Approx(-0.7 * (6 - divergence)).epsilon(1e-5));
  }
}

TEST_CASE("SAC's gradients beside a prior are finite differences of its losses", "[unit]") {
  for (const std::string type : {"uniform", "truncated_normal", "same_action"}) {
    INFO(type);
    const auto trainee = TraineeOf("name: sac, n_step: 2, prior: {type: " + type + "}", Environment());
    Move(trainee.get());
    const Model& model = trainee->model();
    testing::CheckGradients(
        trainee.get(),
        {model.net("actor").group(), model.net("critic").group(), model.scalar("log_temperature")->group()},
        type == "same_action" ? Sequences() : testing::RandomTransitions(Environment(), 6, 4));
  }
}

}  // namespace
}  // namespace waggle
