#include "common/rl/kit/returns/sequence_returns.h"

#include <cmath>
#include <limits>
#include <vector>

#include "common/rl/kit/returns/value_rescaling.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using torch::Tensor;

const double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("rescaling has the values of its definition, and its inverse takes them back", "[unit]") {
  for (const double epsilon : {0.0, 1e-3, 0.01, 1.0}) {
    for (const double value : {0.0, 1e-9, 0.3, -0.3, 1.0, 8.0, -99.0, 1e4, -1e7}) {
      INFO(value << ", epsilon " << epsilon);
      const double size = std::abs(value);
      const double defined = (value < 0 ? -1 : 1) * (std::sqrt(size + 1) - 1) + epsilon * value;
      CHECK(RescaledValue(value, epsilon) == Approx(defined).margin(1e-12));
      CHECK(UnrescaledValue(RescaledValue(value, epsilon), epsilon) == Approx(value).epsilon(1e-10).margin(1e-15));
    }
  }
  CHECK(RescaledValue(99, 0.001) == Approx(9.099));
  CHECK(UnrescaledValue(9.099, 0.001) == Approx(99));
  CHECK(RescaledValue(-3, 0) == Approx(-1));
  CHECK(std::isnan(RescaledValue(kNaN, 0.001)));
  CHECK(std::isnan(UnrescaledValue(kNaN, 0.001)));
}

TEST_CASE("rescaling of tensors is that of their elements", "[unit]") {
  for (const double epsilon : {0.0, 1e-3, 1.0}) {
    const Tensor values = torch::tensor({{0.0, -1e-6, 0.5}, {-7.0, 300.0, -1e6}}, torch::kFloat64);
    const Tensor rescaled = Rescaled(values, epsilon);
    for (int64_t i = 0; i < values.numel(); ++i) {
      const double value = values.view(-1)[i].item<double>();
      CHECK(rescaled.view(-1)[i].item<double>() == Approx(RescaledValue(value, epsilon)).margin(1e-15));
      CHECK(Unrescaled(values, epsilon).view(-1)[i].item<double>() ==
            Approx(UnrescaledValue(value, epsilon)).margin(1e-15));
    }
    CHECK(torch::allclose(Unrescaled(rescaled, epsilon), values, 1e-10, 1e-15));
    const Tensor single = values.to(torch::kFloat32);
    CHECK(torch::allclose(Unrescaled(Rescaled(single, epsilon), epsilon), single, 1e-5, 1e-6));
  }
}

// One sequence, of which the first `steps` rows have a step.
struct Row {
  std::vector<double> rewards, discounts, values;
  int64_t steps = 0;
};

// The definition, one number at a time.
double Reference(const Row& row, int64_t t, int64_t n_step) {
  double sum = 0;
  double weight = 1;
  int64_t at = t;
  for (; at < row.steps && at < t + n_step; ++at) {
    sum += weight * row.rewards[static_cast<size_t>(at)];
    weight *= row.discounts[static_cast<size_t>(at)];
  }
  return weight == 0 ? sum : sum + weight * row.values[static_cast<size_t>(at)];
}

TEST_CASE("returns of sequences agree with the definition, whatever follows their ends", "[unit]") {
  const std::vector<Row> rows = {
      {{1, 2, 3, 4}, {0.9, 0.9, 0.9, 0.9}, {10, 20, 30, 40, 50}, 4},             // It goes on after the sequence.
      {{1, 2, 3, 4}, {0.9, 0.9, 0.9, 0}, {10, 20, 30, 40, kNaN}, 4},             // A true end.
      {{1, -2, kNaN, 7}, {0.5, 0.9, kNaN, 1}, {10, 20, 30, 40, 50}, 2},          // Truncated within.
      {{1, 2, kNaN, kNaN}, {0.9, 0, kNaN, kNaN}, {10, 20, kNaN, kNaN, kNaN}, 2}  // A true end within.
  };
  for (const torch::ScalarType dtype : {torch::kFloat32, torch::kFloat64}) {
    Tensor reward = torch::empty({4, 4}, dtype);
    Tensor discount = torch::empty({4, 4}, dtype);
    Tensor value = torch::empty({5, 4}, dtype);
    Tensor counts = torch::zeros({4, 4}, torch::kBool);
    for (int64_t i = 0; i < 4; ++i) {
      const Row& row = rows[static_cast<size_t>(i)];
      for (int64_t t = 0; t < 5; ++t) {
        value[t][i] = row.values[static_cast<size_t>(t)];
        if (t < 4) {
          reward[t][i] = row.rewards[static_cast<size_t>(t)];
          discount[t][i] = row.discounts[static_cast<size_t>(t)];
          counts[t][i] = t < row.steps;
        }
      }
    }
    for (const int64_t n_step : {1, 2, 3, 4, 100}) {
      const Tensor returns = SequenceReturns(reward, discount, value.clone().requires_grad_(), counts, n_step);
      REQUIRE(returns.sizes() == value.sizes());
      CHECK_FALSE(returns.requires_grad());
      for (int64_t i = 0; i < 4; ++i) {
        const Row& row = rows[static_cast<size_t>(i)];
        for (int64_t t = 0; t < row.steps; ++t) {
          INFO("row " << i << ", step " << t << ", n " << n_step);
          CHECK(returns[t][i].item<double>() == Approx(Reference(row, t, n_step)));
        }
      }
    }
  }
}

TEST_CASE("a sequence's priority mixes the largest and the mean error of the steps that count", "[unit]") {
  const Tensor errors = torch::tensor({{1.0, kNaN, 5.0}, {-3.0, -2.0, 5.0}, {kNaN, 1.0, 5.0}}, torch::kFloat64);
  const Tensor counts = torch::tensor({{1, 0, 0}, {1, 1, 0}, {0, 1, 0}}).to(torch::kBool);
  CHECK(torch::allclose(MaxMeanPriority(errors, counts, 0.9),
                        torch::tensor({0.9 * 3 + 0.1 * 2, 0.9 * 2 + 0.1 * 1.5, 0.0}, torch::kFloat64)));
}

}  // namespace
}  // namespace waggle
