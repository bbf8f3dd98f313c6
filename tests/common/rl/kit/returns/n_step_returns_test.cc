#include "common/rl/kit/returns/n_step_returns.h"

#include <torch/csrc/autograd/autograd.h>

#include <cstdint>
#include <limits>

#include "tests/support/catch.h"

namespace waggle {
namespace {

struct Row {
  std::vector<double> rewards;
  std::vector<double> discounts;
  int64_t length = 0;
};

// The definition, one number at a time.
void Reference(const Row& row, double gamma, double* sum, double* bootstrap) {
  *sum = 0;
  *bootstrap = 1;
  for (int64_t k = 0; k < row.length - 1; ++k) {
    double weight = 1;
    for (int64_t j = 0; j < k; ++j) {
      weight *= gamma * row.discounts[static_cast<size_t>(j)];
    }
    *sum += weight * row.rewards[static_cast<size_t>(k)];
    *bootstrap *= gamma * row.discounts[static_cast<size_t>(k)];
  }
}

void CheckRows(const std::vector<Row>& rows, double gamma, torch::ScalarType dtype) {
  const int64_t columns = static_cast<int64_t>(rows[0].rewards.size());
  const int64_t count = static_cast<int64_t>(rows.size());
  torch::Tensor reward = torch::empty({count, columns}, torch::kFloat64);
  torch::Tensor discount = torch::empty({count, columns}, torch::kFloat64);
  torch::Tensor length = torch::empty({count}, torch::kInt64);
  for (int64_t i = 0; i < count; ++i) {
    const Row& row = rows[static_cast<size_t>(i)];
    length[i] = row.length;
    for (int64_t k = 0; k < columns; ++k) {
      reward[i][k] = row.rewards[static_cast<size_t>(k)];
      discount[i][k] = row.discounts[static_cast<size_t>(k)];
    }
  }
  const NStepReturn result = NStepReturns(reward.to(dtype), discount.to(dtype), length, gamma);
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    double bootstrap = 0;
    Reference(rows[static_cast<size_t>(i)], gamma, &sum, &bootstrap);
    INFO("row " << i);
    CHECK(result.rewards[i].item<double>() == Approx(sum).margin(1e-6));
    CHECK(result.bootstrap[i].item<double>() == Approx(bootstrap).margin(1e-6));
  }
}

const double kNaN = std::numeric_limits<double>::quiet_NaN();

// Float32 takes the sweep over memory, float64 LibTorch's operators.
const std::vector<torch::ScalarType> kTypes = {torch::kFloat32, torch::kFloat64};

TEST_CASE("n-step returns agree with the definition, whatever follows a window's end", "[unit]") {
  const std::vector<Row> rows = {{{1, 2, 3, 4}, {1, 1, 1, 1}, 4},           // Whole.
                                 {{1, 2, 3, 4}, {1, 0, 1, 1}, 4},           // A true end inside.
                                 {{1, 2, kNaN, kNaN}, {1, 0, kNaN, 1}, 3},  // Ends early, terminated.
                                 {{1, 2, kNaN, 7}, {1, 1, 1, kNaN}, 3},     // Ends early, truncated.
                                 {{5, kNaN, 1, 1}, {1, 1, 1, 1}, 2},
                                 {{kNaN, 1, 1, 1}, {kNaN, 1, 1, 1}, 1},  // No step at all.
                                 {{0.5, -2, 0.25, 1}, {0.5, 0.25, 0.75, 1}, 4}};
  for (const torch::ScalarType dtype : kTypes) {
    for (const double gamma : {0.0, 0.9, 1.0}) {
      CheckRows(rows, gamma, dtype);
    }
  }
}

TEST_CASE("a value with a bootstrap of 0 neither counts nor spoils gradients", "[unit]") {
  const torch::Tensor reward = torch::tensor({1.0, 2.0, 3.0});
  torch::Tensor bootstrap = torch::tensor({0.5, 0.0, 0.0}).requires_grad_();
  for (const double ignored : {kNaN, std::numeric_limits<double>::infinity(), 1e30}) {
    torch::Tensor value = torch::tensor({{4.0, ignored, 5.0}, {6.0, 7.0, ignored}}).requires_grad_();
    const torch::Tensor result = Bootstrapped(reward, bootstrap, value);  // Members before the rows.
    CHECK(torch::equal(result.detach(), torch::tensor({{3.0, 2.0, 3.0}, {4.0, 2.0, 3.0}})));
    const std::vector<torch::Tensor> gradients = torch::autograd::grad({result.sum()}, {value, bootstrap});
    CHECK(torch::equal(gradients[0], torch::tensor({{0.5, 0.0, 0.0}, {0.5, 0.0, 0.0}})));
    CHECK(torch::equal(gradients[1], torch::tensor({10.0, 0.0, 0.0})));
  }
}

TEST_CASE("a value of other rows is refused, not broadcast", "[unit]") {
  const torch::Tensor rows = torch::ones({3});
  CHECK_THROWS_AS(Bootstrapped(rows, rows, torch::ones({3, 1})), c10::Error);
  CHECK_THROWS_AS(Bootstrapped(rows, torch::ones({3, 1}), rows), c10::Error);
  CHECK_THROWS_AS(Bootstrapped(rows, rows, torch::ones({})), c10::Error);
}

}  // namespace
}  // namespace waggle
