#include "common/nn/flat_kernels.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

// Counts around the width of a vector register, where a sweep's tail begins.
const std::vector<int64_t> kCounts = {0, 1, 7, 8, 9, 31, 100};

std::vector<float> Numbers(int64_t count, double phase) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) {
    numbers.push_back(static_cast<float>(std::sin(phase + 0.7 * static_cast<double>(i))));
  }
  return numbers;
}

TEST_CASE("a sum of squares is not finite if any element is not", "[unit]") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    for (size_t i = 0; i < 19; ++i) {
      std::vector<float> numbers(19, 1);
      numbers[i] = bad;
      CHECK_FALSE(std::isfinite(SumOfSquares(numbers.data(), 19)));
    }
  }
  const std::vector<float> largest(100, std::numeric_limits<float>::max());
  CHECK(std::isfinite(SumOfSquares(largest.data(), 100)));
}

TEST_CASE("added values are scaled first, for every element", "[unit]") {
  for (const int64_t count : kCounts) {
    const std::vector<float> numbers = Numbers(count, 1);
    std::vector<float> sum = Numbers(count, 2);
    const std::vector<float> before = sum;
    AddScaled(numbers.data(), 0.5F, sum.data(), count);
    for (size_t i = 0; i < sum.size(); ++i) {
      CHECK(sum[i] == before[i] + 0.5F * numbers[i]);
    }
  }
}

TEST_CASE("a variance that rounding takes below 0 counts as 0", "[unit]") {
  float value = 1;
  const float gradient = 3;
  float momentum = 0;
  float square = 9;
  float mean = 3.00001F;  // Its square is above 9.
  ApplyRmsProp({1, 0, 0.99, 0, 0.1, 1e-3}, &value, &gradient, &momentum, &square, &mean, 1);
  CHECK(value == Approx(1 - 0.1 * 3 / 1e-3));
}

}  // namespace
}  // namespace waggle
