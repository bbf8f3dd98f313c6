#include "common/rl/acting/exploration_noise.h"

#include <cmath>

#include "tests/support/catch.h"
#include "tests/support/state_copy.h"

namespace waggle {
namespace {

torch::Tensor Slots(std::vector<int64_t> slots) {
  return torch::tensor(slots, torch::kInt64);
}

torch::Tensor First(std::vector<int64_t> first) {
  return torch::tensor(first, torch::kInt64).to(torch::kBool);
}

TEST_CASE("slots have independent noise, which starts again with each episode", "[unit]") {
  OrnsteinUhlenbeckOptions options;
  options.mean = 2;
  options.deviation = 0.3;
  options.rate = 0.7;
  options.interval = 0.5;
  options.initial = -1;
  Noise noise(2, torch::kCPU);
  Noise same(2, torch::kCPU);
  OrnsteinUhlenbeck process(options, 4, 3, torch::kCPU);
  std::vector<std::vector<double>> wanted(4, std::vector<double>(3, -1));
  const std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>> steps = {
      {{0, 1, 2, 3}, {1, 1, 1, 1}}, {{3, 1}, {0, 0}}, {{1, 0}, {0, 1}}, {{2}, {0}}, {{0, 1, 2, 3}, {0, 1, 0, 0}}};
  for (const auto& [slots, first] : steps) {
    const torch::Tensor x = process.Step(Slots(slots), First(first), &noise);
    const torch::Tensor normal = same.NormalLike(x);
    for (size_t row = 0; row < slots.size(); ++row) {
      std::vector<double>& state = wanted[static_cast<size_t>(slots[row])];
      for (size_t i = 0; i < 3; ++i) {
        const double before = first[row] != 0 ? -1 : state[i];
        const double random = normal[static_cast<int64_t>(row)][static_cast<int64_t>(i)].item<double>();
        state[i] = before + 0.7 * (2 - before) * 0.5 + 0.3 * std::sqrt(0.5) * random;
        CHECK(x[static_cast<int64_t>(row)][static_cast<int64_t>(i)].item<double>() == Approx(state[i]).margin(1e-6));
      }
    }
  }
}

TEST_CASE("a moving average is the sum of a slot's last two draws of one episode", "[unit]") {
  Noise noise(2, torch::kCPU);
  Noise same(2, torch::kCPU);
  MovingAverage average(3, 2, torch::kCPU);
  const torch::Tensor a = same.NormalLike(torch::empty({3, 2}));
  const torch::Tensor b = same.NormalLike(torch::empty({2, 2}));
  CHECK(torch::allclose(average.Step(Slots({0, 1, 2}), First({1, 1, 1}), &noise), a));
  // Slot 2 goes on, and slot 0 begins an episode.
  const torch::Tensor second = average.Step(Slots({2, 0}), First({0, 1}), &noise);
  CHECK(torch::allclose(second[0], b[0] + a[2]));
  CHECK(torch::allclose(second[1], b[1]));
  const torch::Tensor c = same.NormalLike(torch::empty({2, 2}));
  const torch::Tensor third = average.Step(Slots({0, 1}), First({0, 0}), &noise);
  CHECK(torch::allclose(third[0], c[0] + b[1]));
  CHECK(torch::allclose(third[1], c[1] + a[1]));
}

TEST_CASE("returned noise does not change later", "[unit]") {
  Noise noise(3, torch::kCPU);
  OrnsteinUhlenbeck process(OrnsteinUhlenbeckOptions(), 2, 1, torch::kCPU);
  const torch::Tensor x = process.Step(Slots({0, 1}), First({1, 1}), &noise);
  const torch::Tensor copy = x.clone();
  process.Step(Slots({0, 1}), First({0, 0}), &noise);
  CHECK(torch::equal(x, copy));
}

TEST_CASE("the process approaches the variance of its stationary distribution", "[unit]") {
  OrnsteinUhlenbeckOptions options;
  options.deviation = 0.5;
  options.rate = 1;
  options.interval = 0.1;
  const int64_t slots = 2000;
  Noise noise(4, torch::kCPU);
  OrnsteinUhlenbeck process(options, slots, 1, torch::kCPU);
  torch::Tensor x;
  for (int i = 0; i < 100; ++i) {
    x = process.Step(torch::arange(slots), torch::zeros({slots}, torch::kBool), &noise);
  }
  // x' = (1 - a) x + b n has the variance b^2 / (1 - (1 - a)^2). Four standard errors on either side.
  const double variance = 0.25 * 0.1 / (1 - 0.9 * 0.9);
  const double count = static_cast<double>(slots);
  CHECK(std::abs(x.mean().item<double>()) < 4 * std::sqrt(variance / count));
  CHECK(std::abs(x.square().mean().item<double>() - variance) < 4 * variance * std::sqrt(2 / count));
}

TEST_CASE("a restored process goes on where the saved one was", "[unit]") {
  Noise noise(5, torch::kCPU);
  OrnsteinUhlenbeck saved(OrnsteinUhlenbeckOptions(), 3, 2, torch::kCPU);
  saved.Step(Slots({0, 1, 2}), First({1, 1, 1}), &noise);
  testing::StateCopy state;
  saved.VisitState(state.Saver());
  OrnsteinUhlenbeck restored(OrnsteinUhlenbeckOptions(), 3, 2, torch::kCPU);
  restored.VisitState(state.Loader());
  Noise one(6, torch::kCPU);
  Noise same(6, torch::kCPU);
  CHECK(
      torch::equal(saved.Step(Slots({2, 0}), First({0, 0}), &one), restored.Step(Slots({2, 0}), First({0, 0}), &same)));
}

TEST_CASE("without randomness the process returns to its mean by its rate, from its initial value", "[unit]") {
  OrnsteinUhlenbeckOptions options;
  options.initial = 1;
  Noise noise(1, torch::kCPU);
  OrnsteinUhlenbeck process(options, 1, 1, torch::kCPU);
  const torch::Tensor still = torch::zeros({1, 1});
  CHECK(process.Step(Slots({0}), First({1}), &noise, still).item<double>() == Approx(0.9985));
  CHECK(process.Step(Slots({0}), First({0}), &noise, still).item<double>() == Approx(0.9985 * 0.9985));
}

TEST_CASE("slots and first of other shapes or types are refused", "[unit]") {
  Noise noise(7, torch::kCPU);
  OrnsteinUhlenbeck process(OrnsteinUhlenbeckOptions(), 2, 1, torch::kCPU);
  CHECK_THROWS_AS(process.Step(Slots({0, 1}), First({1}), &noise), c10::Error);
  CHECK_THROWS_AS(process.Step(Slots({0, 1}), Slots({1, 1}), &noise), c10::Error);
  CHECK_THROWS_AS(process.Step(Slots({0, 1}).unsqueeze(1), First({1, 1}), &noise), c10::Error);
  OrnsteinUhlenbeckOptions options;
  options.interval = 0;
  CHECK_THROWS_AS(OrnsteinUhlenbeck(options, 1, 1, torch::kCPU), c10::Error);
}

}  // namespace
}  // namespace waggle
