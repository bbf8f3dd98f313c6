#include "common/rl/kit/returns/advantages.h"

#include <cmath>

#include "tests/common/rl/kit/returns/lanes.h"

namespace waggle {
namespace {

using testing::Column;
using testing::kNaN;
using testing::kTypes;
using testing::Lane;
using testing::Last;

// The definition, as a sum over what follows: the deltas of rows t, t + 1, ..., each weighted by the product of
// discount times lambda between, up to the episode's end.
double ReferenceAdvantage(const Lane& row, size_t t, double lambda) {
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

Advantages Compute(const std::vector<Lane>& rows, double lambda, torch::ScalarType type) {
  return GeneralizedAdvantages(Column(rows, &Lane::reward, type), Column(rows, &Lane::discount, type),
                               Column(rows, &Lane::value, type), Last(rows), lambda);
}

TEST_CASE("advantages agree with their definition, over many episodes in an unroll", "[unit]") {
  for (const torch::ScalarType type : kTypes) {
    for (const double lambda : {0.0, 0.5, 0.95, 1.0}) {
      Rng random(17);
      std::vector<Lane> rows;
      for (int i = 0; i < 50; ++i) {
        rows.push_back(testing::RandomLane(20, &random, i % 2 == 0 ? kNaN : 5));
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

void CheckIs(const torch::Tensor& tensor, const std::vector<double>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    CHECK(tensor[static_cast<int64_t>(i)][0].item<double>() == Approx(wanted[i]).epsilon(1e-6));
  }
}

TEST_CASE("known returns and advantages of four steps", "[unit]") {
  // An episode of four steps and its final observation, whose own row does not count.
  const Lane truncated{{1, 2, 3, 4, kNaN}, {0.9, 0.9, 0.9, 0.9, kNaN}, {0.5, 1, 1.5, 2, 7, kNaN}, {0, 0, 0, 0, 1}};
  Lane terminated = truncated;
  terminated.discount[3] = 0;
  terminated.value[4] = kNaN;
  // The same where the unroll ends with the episode's last action.
  const Lane cut{{1, 2, 3, 4}, {0.9, 0.9, 0.9, 0.9}, {0.5, 1, 1.5, 2, 7}, {0, 0, 0, 0}};
  for (const torch::ScalarType type : kTypes) {
    CheckIs(Compute({terminated}, 0, type).advantage, {1.4, 2.35, 3.3, 2, 0});
    CheckIs(Compute({terminated}, 0.5, type).advantage, {3.308, 4.24, 4.2, 2, 0});
    CheckIs(Compute({terminated}, 1, type).advantage, {7.646, 6.94, 5.1, 2, 0});
    for (const Lane& row : {truncated, cut}) {
      CheckIs(Compute({row}, 0, type).advantage, {1.4, 2.35, 3.3, 8.3});
      CheckIs(Compute({row}, 0.5, type).advantage, {3.882088, 5.51575, 7.035, 8.3});
      CheckIs(Compute({row}, 1, type).advantage, {12.2387, 12.043, 10.77, 8.3});
    }
    const auto column = [&](std::vector<double> Lane::*field) { return Column({terminated}, field, type); };
    CheckIs(DiscountedReturns(column(&Lane::reward), column(&Lane::discount), column(&Lane::value), Last({terminated})),
            {8.146, 7.94, 6.6, 4, 0});
    CheckIs(
        LambdaReturns(column(&Lane::reward), column(&Lane::discount), column(&Lane::value), Last({terminated}), 0.5),
        {3.808, 5.24, 5.7, 4, 0});
  }
}

TEST_CASE("rows as columns of another tensor are taken as they are", "[unit]") {
  Rng random(19);
  const std::vector<Lane> rows = {testing::RandomLane(6, &random, 0), testing::RandomLane(6, &random, 0),
                                  testing::RandomLane(6, &random, 0)};
  const auto turned = [](const torch::Tensor& tensor) { return tensor.t().contiguous().t(); };
  const torch::Tensor value = turned(Column(rows, &Lane::value, torch::kFloat32));
  REQUIRE_FALSE(value.is_contiguous());
  const Advantages result =
      GeneralizedAdvantages(turned(Column(rows, &Lane::reward, torch::kFloat32)),
                            turned(Column(rows, &Lane::discount, torch::kFloat32)), value, turned(Last(rows)), 0.9);
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
    CHECK_THROWS_AS(GeneralizedAdvantages(step, step, step, last, 1), c10::Error);
    CHECK_THROWS_AS(GeneralizedAdvantages(step, step.narrow(1, 0, 1), value, last, 1), c10::Error);
    CHECK_THROWS_AS(GeneralizedAdvantages(step, step, value, step, 1), c10::Error);
    CHECK_THROWS_AS(GeneralizedAdvantages(step[0], step, value, last, 1), c10::Error);
  }
  CHECK_THROWS_AS(GeneralizedAdvantages(torch::ones({1, 1}), torch::ones({1, 1}, torch::kFloat64), torch::ones({2, 1}),
                                        torch::zeros({1, 1}, torch::kBool), 1),
                  c10::Error);
}

TEST_CASE("means and standard scores are over the counted elements", "[unit]") {
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
    CHECK_THROWS_AS(MaskedMean(values, mask[0]), c10::Error);
    CHECK_THROWS_AS(Standardized(values, values), c10::Error);
  }
}

TEST_CASE("elements outside a mean get no gradient", "[unit]") {
  torch::Tensor values = torch::tensor({1.0F, static_cast<float>(kNaN), 3.0F}).requires_grad_();
  MaskedMean(values * 2, torch::tensor({1, 0, 1}, torch::kInt64).to(torch::kBool)).backward();
  CHECK(torch::equal(values.grad(), torch::tensor({1.0F, 0.0F, 1.0F})));
}

}  // namespace
}  // namespace waggle
