#include <cmath>

#include "common/rl/algorithms/oac/oac.h"
#include "common/rl/algorithms/oac/optimism.h"
#include "tests/support/algorithm_checks.h"

namespace waggle {
namespace {

using testing::TraineeOf;
using torch::Tensor;

EnvironmentSpec Environment() {
  return testing::EnvironmentOf(3, Box("action", DType::kFloat32, {2}, -1, 1));
}

TEST_CASE("the upper bound is the critics' mean and their deviations", "[unit]") {
  Tensor values = torch::tensor({{1.0, 4.0}, {3.0, 4.0}, {8.0, 4.0}}, torch::kFloat64).requires_grad_();
  const Tensor bound = UpperBound(values, 0.5);
  CHECK(bound[0].item<double>() == Approx(4 + 0.5 * std::sqrt((9.0 + 1 + 16) / 3)));
  CHECK(bound[1].item<double>() == 4);  // Also with a finite gradient.
  CHECK(torch::isfinite(torch::autograd::grad({bound.sum()}, {values})[0]).all().item<bool>());
}

TEST_CASE("the optimistic mean has the divergence, and no other with it grows more along the gradient", "[unit]") {
  torch::manual_seed(3);
  const auto random = [](int64_t rows) { return torch::randn({rows, 4}, torch::kFloat64); };
  const Tensor mean = random(5);
  const Tensor stddev = random(5).exp();
  const Tensor gradient = random(5);
  const Tensor optimistic = OptimisticMean(mean, stddev, gradient, 2.5);
  const Tensor divergence = (0.5 * ((optimistic - mean) / stddev).square()).sum(1);
  CHECK(torch::allclose(divergence, torch::full_like(divergence, 2.5)));
  const Tensor gain = (gradient * (optimistic - mean)).sum(1);
  for (int draw = 0; draw < 200; ++draw) {
    const Tensor direction = random(5);
    const Tensor other = stddev * direction / direction.norm(2, 1, true) * std::sqrt(5.0);
    CHECK(((gradient * other).sum(1) <= gain + 1e-9).all().item<bool>());
  }
  CHECK(torch::equal(OptimisticMean(mean, stddev, torch::zeros_like(mean), 2.5), mean));
}

// Numbers that a test chooses; greedy acting must draw none.
class GivenNoise : public Noise {
 public:
  explicit GivenNoise(Tensor normal) : Noise(0, torch::kCPU), normal_(std::move(normal)) {}
  Tensor NormalLike(const Tensor& like) override {
    REQUIRE(normal_.defined());
    REQUIRE(like.sizes() == normal_.sizes());
    return normal_;
  }

 private:
  const Tensor normal_;
};

TEST_CASE("OAC explores around a mean that is shifted along the upper bound's gradient, and evaluates as SAC",
          "[unit]") {
  const auto trainee = TraineeOf("name: oac", Environment());
  const Net& actor = trainee->model().net("actor");
  const Net& critic = trainee->model().net("critic");
  OacOptions options;
  options.optimism = 2;
  options.divergence = 0.125;
  const EnvironmentSpec environment = Environment();
  ActingNets nets{environment, torch::kCPU, 3, {}};
  nets.nets.emplace("actor", NetView(&actor.network()));
  nets.nets.emplace("critic", NetView(&critic.network()));
  const auto policy = testing::ValueOf(testing::ValueOf(BuiltinAlgorithms().Find("oac"))->new_policy(options, nets));
  CHECK(policy->differentiates());
  const Observations observation = {torch::randn({3, 3}, torch::kFloat64)};
  const Tensor normal = torch::randn({3, 2}, torch::kFloat64);
  GivenNoise noise(normal);
  GivenNoise none((Tensor()));
  const Tensor explored = policy->Act({observation, {}, {}, false, &noise}).action;
  const Tensor greedy = policy->Act({observation, {}, {}, true, &none}).action;

  const torch::NoGradGuard no_grad;
  const Distribution learned = actor(observation).policy();
  CHECK(torch::equal(greedy, learned.Mode()));
  const Tensor mean = learned.mean();
  const auto bound = [&](const Tensor& before_tanh, int64_t row) {
    const Tensor q = critic(observation, before_tanh.tanh()).value();
    const double one = q[0][row].item<double>();
    const double two = q[1][row].item<double>();
    return (one + two) / 2 + 2 * std::abs(one - two) / 2;
  };
  for (int64_t row = 0; row < 3; ++row) {
    double gradient[2];
    double norm = 0;
    for (int64_t i = 0; i < 2; ++i) {
      Tensor change = torch::zeros_like(mean);
      change[row][i] = 1e-6;
      gradient[i] = (bound(mean + change, row) - bound(mean - change, row)) / 2e-6;
      norm += std::pow(gradient[i] * learned.stddev()[row][i].item<double>(), 2);
    }
    for (int64_t i = 0; i < 2; ++i) {
      const double deviation = learned.stddev()[row][i].item<double>();
      const double shift = std::sqrt(2 * 0.125) * deviation * deviation * gradient[i] / std::sqrt(norm);
      const double expected = mean[row][i].item<double>() + shift + deviation * normal[row][i].item<double>();
      CHECK(explored[row][i].item<double>() == Approx(std::tanh(expected)).epsilon(1e-5));
    }
  }
}

TEST_CASE("OAC's update is SAC's", "[unit]") {
  const TensorBatch batch = testing::RandomTransitions(Environment(), 6, 4);
  CaptureStepper one, other;
  const auto sac = TraineeOf("name: sac", Environment());
  const auto oac = TraineeOf("name: oac", Environment());
  testing::Updated(sac.get(), batch, &one);
  testing::Updated(oac.get(), batch, &other);
  REQUIRE(one.gradients().size() == 3);
  for (const auto& [group, gradient] : one.gradients()) {
    INFO(group);
    CHECK(torch::equal(other.gradients().at(group), gradient));
  }
}

}  // namespace
}  // namespace waggle
