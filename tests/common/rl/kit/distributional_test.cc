#include "common/rl/kit/distributional.h"

#include <algorithm>
#include <cmath>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using torch::Tensor;

// The projection as the paper's algorithm 1, a number at a time.
std::vector<double> SlowProjection(const std::vector<double>& probabilities, double reward, double bootstrap,
                                   double low, double high) {
  const auto atoms = static_cast<int>(probabilities.size());
  const double step = (high - low) / (atoms - 1);
  std::vector<double> projected(probabilities.size());
  for (int i = 0; i < atoms; ++i) {
    const double value = std::clamp(reward + bootstrap * (low + i * step), low, high);
    const double position = (value - low) / step;
    const int below = static_cast<int>(std::floor(position));
    const int above = static_cast<int>(std::ceil(position));
    if (below == above) {
      projected[static_cast<size_t>(below)] += probabilities[static_cast<size_t>(i)];
      continue;
    }
    projected[static_cast<size_t>(below)] += probabilities[static_cast<size_t>(i)] * (above - position);
    projected[static_cast<size_t>(above)] += probabilities[static_cast<size_t>(i)] * (position - below);
  }
  return projected;
}

Tensor Row(const std::vector<double>& values) {
  return torch::tensor(values, torch::kFloat64).unsqueeze(0);
}

TEST_CASE("a projection shares each probability between the two nearest atoms, and loses none", "[unit]") {
  const Tensor probabilities = Row({0.1, 0.2, 0.4, 0.2, 0.1});
  struct Case {
    double reward, bootstrap;
    std::vector<double> projected;
  };
  const std::vector<Case> cases = {{0.5, 0.9, {0.03, 0.15, 0.32, 0.32, 0.18}},
                                   {10, 0.9, {0, 0, 0, 0, 1}},
                                   {1, 1, {0, 0.1, 0.2, 0.4, 0.3}},
                                   {1, 0, {0, 0, 0, 1, 0}}};
  for (const Case& one : cases) {
    for (const auto type : {torch::kFloat64, torch::kFloat32}) {
      const Tensor projected = ProjectedAtoms(probabilities.to(type), torch::full({1}, one.reward, type),
                                              torch::full({1}, one.bootstrap, type), -2, 2);
      CHECK(torch::allclose(projected.to(torch::kFloat64), Row(one.projected), 1e-5, 1e-6));
    }
  }
}

TEST_CASE("projections equal those computed a number at a time", "[unit]") {
  torch::manual_seed(4);
  const Tensor probabilities = torch::rand({40, 7}, torch::kFloat64).softmax(-1);
  const Tensor reward = torch::randn({40}, torch::kFloat64) * 5;
  const Tensor bootstrap = torch::rand({40}, torch::kFloat64);
  const Tensor projected = ProjectedAtoms(probabilities, reward, bootstrap, -3, 4);
  for (int64_t row = 0; row < 40; ++row) {
    const double* const own = probabilities[row].data_ptr<double>();
    const std::vector<double> wanted = SlowProjection(std::vector<double>(own, own + 7), reward[row].item<double>(),
                                                      bootstrap[row].item<double>(), -3, 4);
    CHECK(torch::allclose(projected[row], Row(wanted)[0]));
  }
}

TEST_CASE("the quantile loss equals that computed a number at a time, with and without a threshold", "[unit]") {
  torch::manual_seed(5);
  const Tensor quantiles = torch::randn({6, 3}, torch::kFloat64) * 2;
  const Tensor fractions = torch::rand({6, 3}, torch::kFloat64);
  const Tensor targets = torch::randn({6, 4}, torch::kFloat64) * 2;
  for (const double threshold : {0.0, 0.5, 1.0}) {
    const Tensor loss = QuantileLoss(quantiles, fractions, targets, threshold);
    for (int64_t row = 0; row < 6; ++row) {
      double wanted = 0;
      for (int64_t n = 0; n < 3; ++n) {
        for (int64_t m = 0; m < 4; ++m) {
          const double error = targets[row][m].item<double>() - quantiles[row][n].item<double>();
          const double size = std::abs(error);
          const double huber = threshold == 0      ? size
                               : size <= threshold ? 0.5 * error * error / threshold
                                                   : size - 0.5 * threshold;
          wanted += std::abs(fractions[row][n].item<double>() - (error < 0 ? 1 : 0)) * huber / 4;
        }
      }
      CHECK(loss[row].item<double>() == Approx(wanted));
    }
  }
}

TEST_CASE("the quantile loss of float32 rows and its gradient are those of autograd", "[unit]") {
  torch::manual_seed(6);
  for (const int64_t count : {1, 16, 37}) {
    const Tensor quantiles = torch::randn({5, count}, torch::kFloat64) * 2;
    const Tensor fractions = torch::rand({count}, torch::kFloat64);
    const Tensor targets = torch::randn({5, 9}, torch::kFloat64) * 2;
    for (const double threshold : {0.0, 0.5, 1.0}) {
      INFO(count << " quantiles, threshold " << threshold);
      const auto losses = [&](torch::ScalarType type, Tensor* gradient) {
        const Tensor leaf = quantiles.to(type).clone().requires_grad_();
        const Tensor loss = QuantileLoss(leaf, fractions.to(type), targets.to(type), threshold);
        (loss * torch::arange(1, 6, loss.options())).sum().backward();
        *gradient = leaf.grad().to(torch::kFloat64);
        return loss.detach().to(torch::kFloat64);
      };
      Tensor wanted, gradient;
      const Tensor slow = losses(torch::kFloat64, &wanted);
      CHECK(torch::allclose(losses(torch::kFloat32, &gradient), slow, 1e-5, 1e-6));
      CHECK(torch::allclose(gradient, wanted, 1e-5, 1e-6));
    }
  }
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    const Tensor loss = QuantileLoss(torch::zeros({1, 2}), torch::full({2}, 0.5), torch::full({1, 3}, bad));
    CHECK_FALSE(loss.isfinite().item<bool>());
  }
}

TEST_CASE("quantiles that minimise the loss are those of the targets", "[unit]") {
  const Tensor targets = torch::arange(101, torch::kFloat64).unsqueeze(0);
  const Tensor fractions = MiddleFractions(5, targets);
  CHECK(torch::allclose(fractions, Row({0.1, 0.3, 0.5, 0.7, 0.9})[0]));
  Tensor quantiles = torch::full({1, 5}, 50.0, torch::kFloat64).requires_grad_();
  for (int step = 0; step < 3000; ++step) {
    quantiles.mutable_grad().reset();
    QuantileLoss(quantiles, fractions, targets, 0).sum().backward();
    const torch::NoGradGuard no_grad;
    quantiles -= 0.5 * quantiles.grad();
  }
  CHECK(torch::allclose(quantiles, Row({10, 30, 50, 70, 90}), 0, 1));
}

TEST_CASE("numbers at choices are NaN for a choice out of range", "[unit]") {
  const Tensor values = torch::arange(12, torch::kFloat64).view({2, 3, 2});
  const Tensor chosen = AtChoices(values, torch::tensor({2, 0}, torch::kInt64));
  CHECK(torch::equal(chosen, torch::tensor({{4.0, 5.0}, {6.0, 7.0}}, torch::kFloat64)));
  const Tensor unknown = AtChoices(values, torch::tensor({3, -1}, torch::kInt64));
  CHECK(unknown.isnan().all().item<bool>());
}

}  // namespace
}  // namespace waggle
