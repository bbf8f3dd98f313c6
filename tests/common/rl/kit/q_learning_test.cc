#include "common/rl/kit/q_learning.h"

#include <cmath>
#include <limits>

#include "tests/support/catch.h"

namespace waggle {
namespace {

// Float32 takes the sweep over memory, float64 LibTorch's operators.
const std::vector<torch::ScalarType> kTypes = {torch::kFloat32, torch::kFloat64};

TEST_CASE("targets are the rewards and the value of the action that the selector prefers", "[unit]") {
  for (const torch::ScalarType dtype : kTypes) {
    const torch::Tensor rewards = torch::tensor({1.0, 2.0, 3.0}).to(dtype);
    const torch::Tensor bootstrap = torch::tensor({0.9, 0.0, 0.5}).to(dtype);
    const torch::Tensor online = torch::tensor({{1.0, 5.0}, {1.0, 0.0}, {7.0, 6.0}}).to(dtype);
    const torch::Tensor target = torch::tensor({{10.0, 20.0}, {30.0, 40.0}, {50.0, 60.0}}).to(dtype);
    // Double: the online network chooses, the target network rates.
    CHECK(torch::allclose(QLearningTargets(rewards, bootstrap, online, target),
                          torch::tensor({19.0, 2.0, 28.0}).to(dtype)));
    // Fixed target: the target network's maximum.
    CHECK(torch::allclose(QLearningTargets(rewards, bootstrap, target, target),
                          torch::tensor({19.0, 2.0, 33.0}).to(dtype)));
    // Vanilla: the online network's maximum.
    CHECK(torch::allclose(QLearningTargets(rewards, bootstrap, online, online),
                          torch::tensor({5.5, 2.0, 6.5}).to(dtype)));
  }
}

TEST_CASE("values of choices and of preferred choices, behind any leading dimensions", "[unit]") {
  const torch::Tensor values = torch::tensor({{{1.0, 2.0}, {3.0, 4.0}}, {{5.0, 6.0}, {7.0, 8.0}}});
  const torch::Tensor selector = torch::tensor({{{0, 1}, {1, 0}}, {{1, 0}, {0, 1}}});
  CHECK(
      torch::equal(ValuesOfChoices(values, torch::tensor({{0, 1}, {1, 0}})), torch::tensor({{1.0, 4.0}, {6.0, 7.0}})));
  CHECK(torch::equal(ValuesOfBest(values, selector), torch::tensor({{2.0, 3.0}, {5.0, 8.0}})));
}

TEST_CASE("the value of an impossible choice is NaN and has no gradient", "[unit]") {
  for (const torch::ScalarType dtype : kTypes) {
    const torch::Tensor values = torch::tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}).to(dtype).requires_grad_();
    const torch::Tensor chosen = ValuesOfChoices(values, torch::tensor({int64_t{-1}, int64_t{1}, int64_t{2}}));
    CHECK(chosen.isnan().equal(torch::tensor({true, false, true})));
    CHECK(chosen[1].item<double>() == 4);
    chosen.sum().backward();
    CHECK(values.grad().equal(torch::tensor({{0, 0}, {0, 1}, {0, 0}}).to(dtype)));
  }
}

TEST_CASE("after a true end the value does not count even if it is not finite", "[unit]") {
  for (const torch::ScalarType dtype : kTypes) {
    const torch::Tensor values = torch::full({1, 2}, std::numeric_limits<double>::infinity()).to(dtype);
    const torch::Tensor target = QLearningTargets(torch::ones({1}, dtype), torch::zeros({1}, dtype), values, values);
    CHECK(target.item<double>() == 1);
  }
}

TEST_CASE("a value of NaN makes the target NaN, also beside an illegal choice", "[unit]") {
  constexpr double kIllegal = -1e9;
  for (const torch::ScalarType dtype : kTypes) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const auto& values : {torch::tensor({{kIllegal, nan}}), torch::tensor({{nan, kIllegal}})}) {
      const torch::Tensor q = values.to(dtype);
      const torch::Tensor target = QLearningTargets(torch::ones({1}, dtype), torch::ones({1}, dtype), q, q);
      CHECK(std::isnan(target.item<double>()));
    }
  }
}

struct Case {
  torch::Tensor q;
  torch::Tensor actions;
  torch::Tensor targets;
  torch::Tensor weights;
};

// Errors on both sides of 1, of both signs.
Case RandomCase(torch::ScalarType dtype) {
  torch::manual_seed(4);
  return {torch::randn({32, 3}, torch::kFloat64).mul_(3).to(dtype), torch::randint(0, 3, {32}, torch::kInt64),
          torch::randn({32}, torch::kFloat64).to(dtype), torch::rand({32}, torch::kFloat64).to(dtype)};
}

TEST_CASE("the loss is the weighted mean of each row's loss of its TD error", "[unit]") {
  for (const torch::ScalarType dtype : kTypes) {
    for (const TdLoss kind : {TdLoss::kHuber, TdLoss::kMse}) {
      const Case c = RandomCase(dtype);
      const QLearningLossResult result = QLearningLoss(kind, c.q, c.actions, c.targets, c.weights);
      double loss = 0;
      double mean = 0;
      for (int64_t i = 0; i < 32; ++i) {
        const double value = c.q[i][c.actions[i].item<int64_t>()].item<double>();
        const double error = std::abs(value - c.targets[i].item<double>());
        const double huber = error < 1 ? 0.5 * error * error : error - 0.5;
        loss += c.weights[i].item<double>() * (kind == TdLoss::kHuber ? huber : error * error) / 32;
        mean += value / 32;
        CHECK(result.errors[i].item<double>() == Approx(error).margin(1e-6));
      }
      CHECK(result.loss.item<double>() == Approx(loss).epsilon(1e-5));
      CHECK(result.q_mean.item<double>() == Approx(mean).epsilon(1e-5).margin(1e-6));
    }
  }
}

// By q.
torch::Tensor GradientOf(TdLoss kind, const Case& c) {
  const torch::Tensor q = c.q.clone().set_requires_grad(true);
  QLearningLoss(kind, q, c.actions, c.targets, c.weights).loss.backward();
  return q.grad();
}

TEST_CASE("the gradient equals finite differences of the loss", "[unit]") {
  for (const TdLoss kind : {TdLoss::kHuber, TdLoss::kMse}) {
    const Case c = RandomCase(torch::kFloat64);
    const torch::Tensor gradient = GradientOf(kind, c);
    const double step = 1e-6;
    for (int64_t i = 0; i < c.q.numel(); ++i) {
      const auto loss_at = [&](double shift) {
        torch::Tensor q = c.q.clone();
        q.view({-1})[i] += shift;
        return QLearningLoss(kind, q, c.actions, c.targets, c.weights).loss.item<double>();
      };
      const double difference = (loss_at(step) - loss_at(-step)) / (2 * step);
      CHECK(gradient.view({-1})[i].item<double>() == Approx(difference).margin(1e-8));
    }
    const Case single = RandomCase(torch::kFloat32);
    CHECK(torch::allclose(GradientOf(kind, single), gradient.to(torch::kFloat32), 1e-4, 1e-6));
  }
}

TEST_CASE("a loss that is not finite, or an impossible action, makes the gradient not finite", "[unit]") {
  for (const torch::ScalarType dtype : kTypes) {
    Case c = RandomCase(dtype);
    c.targets[5] = std::numeric_limits<double>::infinity();
    const auto loss = [](TdLoss kind, const Case& of) {
      return QLearningLoss(kind, of.q, of.actions, of.targets, of.weights).loss.item<double>();
    };
    CHECK_FALSE(std::isfinite(loss(TdLoss::kHuber, c)));
    CHECK_FALSE(torch::isfinite(GradientOf(TdLoss::kHuber, c)).any().item<bool>());
    for (const int64_t action : {int64_t{-1}, int64_t{3}, int64_t{1} << 40}) {
      c = RandomCase(dtype);
      c.actions[7] = action;
      CHECK_FALSE(std::isfinite(loss(TdLoss::kMse, c)));
      CHECK_FALSE(torch::isfinite(GradientOf(TdLoss::kMse, c)).any().item<bool>());
    }
  }
}

}  // namespace
}  // namespace waggle
