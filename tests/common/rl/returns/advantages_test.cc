#include "common/rl/returns/advantages.h"

#include <cmath>
#include <limits>

#include "common/base/random.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// Float32 takes the sweep over memory, float64 LibTorch's operators.
const std::vector<torch::ScalarType> kTypes = {torch::kFloat32, torch::kFloat64};
const double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Row {
  std::vector<double> reward, discount, value;  // The value has one more.
  std::vector<bool> last;
};

// The definition, as a sum over what follows: the deltas of rows t, t + 1, ..., each weighted by the product of
// discount times lambda between, up to the episode's end.
double ReferenceAdvantage(const Row& row, size_t t, double lambda) {
  if (row.last[t]) {
    return 0;
  }
  double sum = 0;
  double weight = 1;
  for (size_t k = t; k < row.reward.size() && !row.last[k]; ++k) {
    const bool ends = row.discount[k] == 0;
    sum += weight * (row.reward[k] + (ends ? 0 : row.discount[k] * row.value[k + 1]) - row.value[k]);
    if (ends) {
      break;
    }
    weight *= row.discount[k] * lambda;
  }
  return sum;
}

torch::Tensor Column(const std::vector<Row>& rows, std::vector<double> Row::*field, torch::ScalarType type) {
  std::vector<torch::Tensor> columns;
  for (const Row& row : rows) {
    columns.push_back(torch::tensor(row.*field, torch::kFloat64));
  }
  return torch::stack(columns, 1).to(type);
}

torch::Tensor Last(const std::vector<Row>& rows) {
  torch::Tensor last =
      torch::zeros({static_cast<int64_t>(rows[0].last.size()), static_cast<int64_t>(rows.size())}, torch::kBool);
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t t = 0; t < rows[row].last.size(); ++t) {
      last[static_cast<int64_t>(t)][static_cast<int64_t>(row)] = static_cast<bool>(rows[row].last[t]);
    }
  }
  return last;
}

Advantages Compute(const std::vector<Row>& rows, double lambda, torch::ScalarType type) {
  return GeneralizedAdvantages(Column(rows, &Row::reward, type), Column(rows, &Row::discount, type),
                               Column(rows, &Row::value, type), Last(rows), lambda);
}

// Episodes of random lengths, some of which terminate and some of which are truncated, cut into an unroll. What does
// not count is `filling`.
Row RandomRow(int64_t steps, Rng* random, double filling) {
  Row row;
  bool begins_last = random->Uniform() < 0.1;  // An unroll may begin with an episode's final observation.
  bool terminated = begins_last && random->Uniform() < 0.5;
  for (int64_t t = 0; t < steps; ++t) {
    const bool last = begins_last;
    row.last.push_back(last);
    row.value.push_back(last && terminated ? filling : random->Uniform(-2, 2));
    begins_last = !last && random->Uniform() < 0.25;
    terminated = begins_last && random->Uniform() < 0.5;
    row.reward.push_back(last ? filling : random->Uniform(-1, 1));
    row.discount.push_back(last ? filling : terminated ? 0 : 0.97);
  }
  row.value.push_back(terminated ? filling : random->Uniform(-2, 2));
  return row;
}

TEST_CASE("advantages agree with their definition, over many episodes in an unroll", "[unit]") {
  for (const torch::ScalarType type : kTypes) {
    for (const double lambda : {0.0, 0.5, 0.95, 1.0}) {
      Rng random(17);
      std::vector<Row> rows;
      for (int i = 0; i < 50; ++i) {
        rows.push_back(RandomRow(20, &random, i % 2 == 0 ? kNaN : 5));
      }
      const Advantages result = Compute(rows, lambda, type);
      REQUIRE(result.advantage.scalar_type() == type);
      for (size_t row = 0; row < rows.size(); ++row) {
        for (size_t t = 0; t < 20; ++t) {
          const auto at = [&](const torch::Tensor& tensor) {
            return tensor[static_cast<int64_t>(t)][static_cast<int64_t>(row)].item<double>();
          };
          const double wanted = ReferenceAdvantage(rows[row], t, lambda);
          INFO("lambda " << lambda << ", row " << row << ", step " << t);
          CHECK(at(result.advantage) == Approx(wanted).margin(1e-5));
          CHECK(at(result.value_target) == Approx(rows[row].last[t] ? 0 : wanted + rows[row].value[t]).margin(1e-5));
        }
      }
    }
  }
}

TEST_CASE("an unroll of several is what they are one after the other, given the value between", "[unit]") {
  for (const torch::ScalarType type : kTypes) {
    Rng random(18);
    const std::vector<Row> rows = {RandomRow(12, &random, kNaN), RandomRow(12, &random, kNaN)};
    const torch::Tensor reward = Column(rows, &Row::reward, type);
    const torch::Tensor discount = Column(rows, &Row::discount, type);
    const torch::Tensor value = Column(rows, &Row::value, type);
    const Advantages whole = GeneralizedAdvantages(reward, discount, value, Last(rows), 0);
    for (const int64_t cut : {1, 5, 11}) {
      const Advantages part = GeneralizedAdvantages(reward.narrow(0, 0, cut), discount.narrow(0, 0, cut),
                                                    value.narrow(0, 0, cut + 1), Last(rows).narrow(0, 0, cut), 0);
      CHECK(torch::equal(part.advantage, whole.advantage.narrow(0, 0, cut)));
    }
  }
}

void CheckIs(const torch::Tensor& tensor, const std::vector<double>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    CHECK(tensor[static_cast<int64_t>(i)][0].item<double>() == Approx(wanted[i]).epsilon(1e-6));
  }
}

TEST_CASE("known returns and advantages of four steps", "[unit]") {
  // An episode of four steps and its final observation, whose own row does not count.
  const Row truncated{{1, 2, 3, 4, kNaN}, {0.9, 0.9, 0.9, 0.9, kNaN}, {0.5, 1, 1.5, 2, 7, kNaN}, {0, 0, 0, 0, 1}};
  Row terminated = truncated;
  terminated.discount[3] = 0;
  terminated.value[4] = kNaN;
  // The same where the unroll ends with the episode's last action.
  const Row cut{{1, 2, 3, 4}, {0.9, 0.9, 0.9, 0.9}, {0.5, 1, 1.5, 2, 7}, {0, 0, 0, 0}};
  for (const torch::ScalarType type : kTypes) {
    CheckIs(Compute({terminated}, 0, type).advantage, {1.4, 2.35, 3.3, 2, 0});
    CheckIs(Compute({terminated}, 0.5, type).advantage, {3.308, 4.24, 4.2, 2, 0});
    CheckIs(Compute({terminated}, 1, type).advantage, {7.646, 6.94, 5.1, 2, 0});
    for (const Row& row : {truncated, cut}) {
      CheckIs(Compute({row}, 0, type).advantage, {1.4, 2.35, 3.3, 8.3});
      CheckIs(Compute({row}, 0.5, type).advantage, {3.882088, 5.51575, 7.035, 8.3});
      CheckIs(Compute({row}, 1, type).advantage, {12.2387, 12.043, 10.77, 8.3});
    }
    const auto column = [&](std::vector<double> Row::*field) { return Column({terminated}, field, type); };
    CheckIs(DiscountedReturns(column(&Row::reward), column(&Row::discount), column(&Row::value), Last({terminated})),
            {8.146, 7.94, 6.6, 4, 0});
    CheckIs(LambdaReturns(column(&Row::reward), column(&Row::discount), column(&Row::value), Last({terminated}), 0.5),
            {3.808, 5.24, 5.7, 4, 0});
  }
}

TEST_CASE("rows as columns of another tensor are taken as they are", "[unit]") {
  Rng random(19);
  const std::vector<Row> rows = {RandomRow(6, &random, 0), RandomRow(6, &random, 0), RandomRow(6, &random, 0)};
  const auto turned = [](const torch::Tensor& tensor) { return tensor.t().contiguous().t(); };
  const torch::Tensor value = turned(Column(rows, &Row::value, torch::kFloat32));
  REQUIRE_FALSE(value.is_contiguous());
  const Advantages result =
      GeneralizedAdvantages(turned(Column(rows, &Row::reward, torch::kFloat32)),
                            turned(Column(rows, &Row::discount, torch::kFloat32)), value, turned(Last(rows)), 0.9);
  const Advantages wanted = Compute(rows, 0.9, torch::kFloat32);
  CHECK(torch::equal(result.advantage, wanted.advantage));
  CHECK(torch::equal(result.value_target, wanted.value_target));
}

TEST_CASE("advantages are constants, and shapes that do not fit are refused", "[unit]") {
  for (const torch::ScalarType type : kTypes) {
    const torch::Tensor step = torch::ones({2, 3}, type);
    const torch::Tensor last = torch::zeros({2, 3}, torch::kBool);
    const torch::Tensor value = torch::ones({3, 3}, type).requires_grad_();
    CHECK_FALSE(GeneralizedAdvantages(step, step, value, last, 1).advantage.requires_grad());
    CHECK_THROWS_WITH(GeneralizedAdvantages(step, step, step, last, 1),
                      Catch::Contains("value is") && Catch::Contains("[2, 3]; wanted") && Catch::Contains("[3, 3]"));
    CHECK_THROWS_WITH(GeneralizedAdvantages(step, step.narrow(1, 0, 1), value, last, 1),
                      Catch::Contains("discount is") && Catch::Contains("[2, 1]"));
    CHECK_THROWS_WITH(GeneralizedAdvantages(step, step, value, step, 1), Catch::Contains("wanted Bool[2, 3]"));
    CHECK_THROWS_WITH(GeneralizedAdvantages(step[0], step, value, last, 1), Catch::Contains("[T, rows]"));
  }
  CHECK_THROWS_WITH(GeneralizedAdvantages(torch::ones({1, 1}), torch::ones({1, 1}, torch::kFloat64),
                                          torch::ones({2, 1}), torch::zeros({1, 1}, torch::kBool), 1),
                    Catch::Contains("discount is Double[1, 1]; wanted Float[1, 1]"));
}

TEST_CASE("means and standard scores are of what counts alone", "[unit]") {
  for (const torch::ScalarType type : kTypes) {
    const torch::Tensor values = torch::tensor({1.0, kNaN, 4.0, 7.0, kNaN, -2.0}).to(type).view({2, 3});
    const torch::Tensor mask = torch::tensor({1, 0, 1, 1, 0, 1}, torch::kInt64).to(torch::kBool).view({2, 3});
    CHECK(MaskedMean(values, mask).item<double>() == Approx(2.5));
    // Deviations -1.5, 1.5, 4.5, -4.5: a variance of 11.25.
    const torch::Tensor scores = Standardized(values, mask);
    const double root = std::sqrt(11.25);
    const torch::Tensor wanted = torch::tensor({-1.5, 0.0, 1.5, 4.5, 0.0, -4.5}).view({2, 3}) / root;
    CHECK(torch::allclose(scores, wanted.to(type), 1e-5, 1e-7));

    const torch::Tensor whole = torch::tensor({1.0, 4.0, 7.0, -2.0}).to(type);
    CHECK(MaskedMean(whole, {}).item<double>() == Approx(2.5));
    CHECK(torch::allclose(Standardized(whole, {}), torch::tensor({-1.5, 1.5, 4.5, -4.5}).to(type) / root, 1e-5, 1e-7));

    const torch::Tensor none = torch::zeros({2, 3}, torch::kBool);
    CHECK(MaskedMean(values, none).item<double>() == 0);
    CHECK(torch::equal(Standardized(values, none), torch::zeros({2, 3}, type)));
    CHECK(torch::equal(Standardized(torch::full({3}, 2.0, type), {}), torch::zeros({3}, type)));  // No spread.
    CHECK_THROWS_WITH(MaskedMean(values, mask[0]), Catch::Contains("the mask is Bool[3]; wanted Bool[2, 3]"));
    CHECK_THROWS_WITH(Standardized(values, values), Catch::Contains("wanted Bool[2, 3]"));
  }
}

TEST_CASE("what a mean leaves out gets no gradient", "[unit]") {
  torch::Tensor values = torch::tensor({1.0F, static_cast<float>(kNaN), 3.0F}).requires_grad_();
  MaskedMean(values * 2, torch::tensor({1, 0, 1}, torch::kInt64).to(torch::kBool)).backward();
  CHECK(torch::equal(values.grad(), torch::tensor({1.0F, 0.0F, 1.0F})));
}

}  // namespace
}  // namespace waggle
