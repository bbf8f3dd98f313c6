#include "common/rl/kit/return_scale.h"

#include <cmath>

#include "common/rl/training/steppers.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// An unroll of one lane whose steps all count, but for those that are an episode's last.
Unrolls Lane(const std::vector<double>& rewards, double discount, const std::vector<bool>& last = {}) {
  const auto steps = static_cast<int64_t>(rewards.size());
  Unrolls unrolls;
  unrolls.reward = torch::tensor(rewards, torch::kFloat64).view({steps, 1});
  unrolls.discount = torch::full({steps, 1}, discount, torch::kFloat64);
  unrolls.last = torch::zeros({steps, 1}, torch::kBool);
  for (size_t i = 0; i < last.size(); ++i) {
    unrolls.last[static_cast<int64_t>(i)] = static_cast<bool>(last[i]);
  }
  unrolls.counts = unrolls.last.logical_not();
  return unrolls;
}

// A scale in the updates of one of several learners, or of the only one.
struct Scale {
  explicit Scale(Stepper* group = nullptr) : context(group != nullptr ? group : &alone, Progress(), &noise) {}
  torch::Tensor Rewards(const Unrolls& unrolls, const torch::Tensor& value, double lambda) {
    return scale.Rewards(unrolls, value, lambda, &context);
  }

  LocalStepper alone;
  Noise noise{1, torch::kCPU};
  UpdateContext context;
  ReturnScale scale{/*enabled=*/true, torch::kCPU};
};

torch::Tensor NoValues(int64_t steps) {
  return torch::zeros({steps + 1, 1}, torch::kFloat64);
}

TEST_CASE("rewards are over the deviation of all returns so far", "[unit]") {
  Scale scale;
  // With a discount of 0 returns are rewards: 1, 3 and 8 have a variance of 26 / 3.
  const double deviation = std::sqrt(26.0 / 3 + 1e-8);
  const torch::Tensor rewards = scale.Rewards(Lane({1, 3, 8}, 0), NoValues(3), 1);
  CHECK(torch::allclose(rewards.flatten(), torch::tensor({1.0, 3.0, 8.0}, torch::kFloat64) / deviation));
  // The returns 1, 3, 8 and 0 have a variance of 9.5.
  CHECK(scale.Rewards(Lane({0}, 0), NoValues(1), 1).item<double>() == 0);
  CHECK(scale.Rewards(Lane({3}, 0), NoValues(1), 1).item<double>() == Approx(3 / std::sqrt(7.6)).epsilon(1e-6));
}

TEST_CASE("values count on the scale that they have, and an episode's last row is no step", "[unit]") {
  Scale scale;
  scale.Rewards(Lane({-2, 2}, 0), NoValues(2), 1);  // A deviation of 2.
  // The value 2 stands for 4, so the return is 1 + 0.5 * 4. The last row has none.
  const Unrolls unroll = Lane({1, 100}, 0.5, {false, true});
  torch::Tensor value = NoValues(2);
  value[1] = 2.0;
  const double variance = (4 + 4 + 9) / 3.0 - 1;  // The variance of -2, 2 and 3.
  CHECK(scale.Rewards(unroll, value, 0)[0].item<double>() == Approx(1 / std::sqrt(variance)).epsilon(1e-6));
}

TEST_CASE("a return counts as no more than rewards like those so far could add up to", "[unit]") {
  Scale scale;
  torch::Tensor value = NoValues(1);
  // Values that follow each growth of the scale would double it each time.
  for (int i = 0; i < 200; ++i) {
    value[1] = 2.0 * (1 + i);
    scale.Rewards(Lane({1}, 0.9), value, 1);
  }
  // All returns lie in [0, 10].
  const double scaled = scale.Rewards(Lane({1}, 0.9), value, 1).item<double>();
  CHECK(scaled >= 1 / 5.0);
  CHECK(std::isfinite(scaled));
}

TEST_CASE("there is no bound before the first reward, and none without a discount", "[unit]") {
  Scale scale;
  torch::Tensor value = NoValues(2);
  value[2] = 4.0;  // Returns of 4 and 4, and then of 4 and 0.
  scale.Rewards(Lane({0, 0}, 1), value, 1);
  value[2] = 0;
  CHECK(std::isfinite(scale.Rewards(Lane({0, 0}, 1), value, 1)[0].item<double>()));
  // 4, 4, 0, 0 and 1, whose variance is 3.36.
  CHECK(scale.Rewards(Lane({1}, 1), NoValues(1), 1).item<double>() == Approx(1 / std::sqrt(3.36)).epsilon(1e-6));
}

// Another learner's tensors are twice as large.
class LargerOther : public LocalStepper {
 public:
  absl::Status Average(const torch::Tensor& tensor) override {
    torch::Tensor own = tensor;
    own.mul_(1.5);
    return absl::OkStatus();
  }
};

TEST_CASE("several learners scale by the mean of their deviations", "[unit]") {
  LargerOther group;
  Scale scale(&group);
  // The own deviation is 2, the other's 4.
  const torch::Tensor rewards = scale.Rewards(Lane({-2, 2}, 0), NoValues(2), 1);
  CHECK(rewards[1].item<double>() == Approx(2 / 3.0));
  const torch::Tensor value = torch::full({}, 5.0, torch::kFloat64);
  CHECK(scale.scale.Unscaled(value, &scale.context).item<double>() == Approx(15.0));
  CHECK(scale.scale.Scaled(value, &scale.context).item<double>() == Approx(5 / 3.0));
}

}  // namespace
}  // namespace waggle
