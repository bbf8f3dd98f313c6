#include "common/rl/kit/noise.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/support/catch.h"
#include "tests/support/chi_square.h"
#include "tests/support/state_copy.h"

namespace waggle {
namespace {

std::vector<torch::Tensor> DrawAll(Noise* noise) {
  return {noise->NormalLike(torch::empty({3}, torch::kFloat32)), noise->NormalLike(torch::empty({5}, torch::kFloat64)),
          noise->UniformLike(torch::empty({2, 3}, torch::kFloat32)), noise->Categorical(torch::ones({4, 7})),
          noise->Permutation(9)};
}

bool AllEqual(const std::vector<torch::Tensor>& left, const std::vector<torch::Tensor>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const torch::Tensor& a, const torch::Tensor& b) { return torch::equal(a, b); });
}

TEST_CASE("noise follows from its seed, all of it, and from nothing else in the process", "[unit]") {
  Noise one(7, torch::kCPU);
  Noise same(7, torch::kCPU);
  Noise other(8, torch::kCPU);
  Noise upper_half(7 + (uint64_t{1} << 32), torch::kCPU);
  const std::vector<torch::Tensor> drawn = DrawAll(&one);
  torch::rand({100});
  CHECK(AllEqual(drawn, DrawAll(&same)));
  CHECK_FALSE(AllEqual(drawn, DrawAll(&other)));
  CHECK_FALSE(AllEqual(drawn, DrawAll(&upper_half)));
  CHECK_FALSE(AllEqual(drawn, DrawAll(&one)));
}

TEST_CASE("a restored generator goes on bit for bit", "[unit]") {
  for (const int64_t drawn_before : {0, 1, 3, 700}) {  // An odd number of normal numbers leaves one in store.
    Noise saved(7, torch::kCPU);
    saved.NormalLike(torch::empty({drawn_before}, torch::kFloat64));
    testing::StateCopy state;
    saved.VisitState(state.Saver());
    const std::vector<torch::Tensor> wanted = DrawAll(&saved);
    Noise restored(1, torch::kCPU);
    restored.NormalLike(torch::empty({1}, torch::kFloat64));
    restored.VisitState(state.Loader());
    CHECK(AllEqual(wanted, DrawAll(&restored)));
    restored.VisitState(state.Loader());  // The saved state is a copy.
    CHECK(AllEqual(wanted, DrawAll(&restored)));
  }
}

TEST_CASE("normal and uniform noise have the moments of their distributions", "[unit]") {
  Noise noise(11, torch::kCPU);
  for (const torch::ScalarType type : {torch::kFloat32, torch::kFloat64}) {
    const double count = 100000;
    const double bound = 4 / std::sqrt(count);  // Four standard errors, for a variance of 1.
    const torch::Tensor normal = noise.NormalLike(torch::empty({100, 1000}, type));
    CHECK(normal.scalar_type() == type);
    CHECK(std::abs(normal.mean().item<double>()) < bound);
    CHECK(std::abs(normal.square().mean().item<double>() - 1) < bound * std::sqrt(2));
    CHECK(std::abs(normal.pow(4).mean().item<double>() - 3) < bound * std::sqrt(96));
    const torch::Tensor uniform = noise.UniformLike(torch::empty({100, 1000}, type));
    CHECK(uniform.scalar_type() == type);
    CHECK(uniform.min().item<double>() >= 0);
    CHECK(uniform.max().item<double>() < 1);
    CHECK(std::abs(uniform.mean().item<double>() - 0.5) < bound * std::sqrt(1.0 / 12));
    CHECK(std::abs(uniform.square().mean().item<double>() - 1.0 / 3) < bound * std::sqrt(4.0 / 45));
  }
}

TEST_CASE("choices are drawn in proportion to their probabilities, each row by its own", "[unit]") {
  Noise noise(12, torch::kCPU);
  for (const torch::ScalarType type : {torch::kFloat32, torch::kFloat64}) {
    const torch::Tensor rows = torch::tensor({{0.1, 0.2, 0.0, 0.7}, {5.0, 1.0, 2.0, 0.0}}).to(type);
    const torch::Tensor choices = noise.Categorical(rows.expand({20000, 2, 4}));
    REQUIRE(choices.scalar_type() == torch::kInt64);
    REQUIRE(choices.sizes() == at::IntArrayRef({20000, 2}));
    for (int64_t row = 0; row < 2; ++row) {
      std::map<int64_t, int64_t> counts;
      std::map<int64_t, double> weights;
      for (int64_t choice = 0; choice < 4; ++choice) {
        const int64_t count = (choices.select(1, row) == choice).sum().item<int64_t>();
        const double weight = rows[row][choice].item<double>();
        if (weight > 0) {
          counts[choice] = count;
          weights[choice] = weight;
        } else {
          CHECK(count == 0);
        }
      }
      testing::CheckChiSquare(counts, weights);
    }
  }
}

TEST_CASE("a nearly impossible choice is not drawn by float32's coarse numbers", "[unit]") {
  Noise noise(13, torch::kCPU);
  // Float32's uniform numbers are 0 once in 2^24 times: here with two or three of the impossible choices.
  torch::Tensor row = torch::full({64}, 1e-30F);
  row[5] = 1;
  for (int i = 0; i < 30; ++i) {
    CHECK((noise.Categorical(row.expand({20000, 64})) == 5).all().item<bool>());
  }
}

TEST_CASE("a row without any probability gives its first choice", "[unit]") {
  Noise noise(14, torch::kCPU);
  CHECK((noise.Categorical(torch::zeros({50, 3})) == 0).all().item<bool>());
  CHECK_THROWS_AS(noise.Categorical(torch::ones({})), c10::Error);
}

TEST_CASE("all permutations are equally likely", "[unit]") {
  Noise noise(15, torch::kCPU);
  std::map<int64_t, int64_t> counts;
  std::map<int64_t, double> weights;
  for (int64_t i = 0; i < 24000; ++i) {
    const torch::Tensor order = noise.Permutation(4);
    const int64_t* numbers = order.data_ptr<int64_t>();
    ++counts[numbers[0] * 1000 + numbers[1] * 100 + numbers[2] * 10 + numbers[3]];
  }
  std::vector<int64_t> digits = {0, 1, 2, 3};
  do {
    weights[digits[0] * 1000 + digits[1] * 100 + digits[2] * 10 + digits[3]] = 1;
  } while (std::next_permutation(digits.begin(), digits.end()));
  REQUIRE(weights.size() == 24);
  testing::CheckChiSquare(counts, weights);
  CHECK(noise.Permutation(0).numel() == 0);
}

}  // namespace
}  // namespace waggle
