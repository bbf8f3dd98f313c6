#include "common/nn/flat_kernels.h"

#include <algorithm>
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

TEST_CASE("a sum of squares counts every element once", "[unit]") {
  for (const int64_t count : kCounts) {
    const std::vector<float> numbers = Numbers(count, 1);
    double expected = 0;
    for (const float number : numbers) {
      expected += static_cast<double>(number) * static_cast<double>(number);
    }
    CHECK(SumOfSquares(numbers.data(), count) == Approx(expected));
  }
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

TEST_CASE("Adam's sweep follows its formula for every element", "[unit]") {
  const AdamStep step{0.5, 0.01, 0.9, 0.8, 0.95, 0.1, 1.5, 1e-6};
  for (const bool amsgrad : {false, true}) {
    for (const int64_t count : kCounts) {
      std::vector<float> values = Numbers(count, 1);
      std::vector<float> means = Numbers(count, 2);
      std::vector<float> squares(static_cast<size_t>(count), 0.3F);
      std::vector<float> largest(static_cast<size_t>(count), 0.29F);
      const std::vector<float> gradients = Numbers(count, 3);
      const std::vector<float> old_values = values;
      const std::vector<float> old_means = means;
      ApplyAdam(step, values.data(), gradients.data(), means.data(), squares.data(), amsgrad ? largest.data() : nullptr,
                count);
      for (size_t i = 0; i < values.size(); ++i) {
        const double gradient = 0.5 * gradients[i] + 0.01 * old_values[i];
        const double mean = 0.8 * old_means[i] + 0.2 * gradient;
        const double square = 0.95 * 0.3 + 0.05 * gradient * gradient;
        const double divisor = amsgrad ? std::max(0.29, square) : square;
        CHECK(means[i] == Approx(mean).margin(1e-6));
        CHECK(squares[i] == Approx(square));
        CHECK(largest[i] == Approx(amsgrad ? divisor : 0.29));
        CHECK(values[i] == Approx(0.9 * old_values[i] - 0.1 * mean / (std::sqrt(divisor) * 1.5 + 1e-6)).margin(1e-6));
      }
    }
  }
}

TEST_CASE("RMSprop's sweep follows its formula for every element", "[unit]") {
  for (const bool centered : {false, true}) {
    for (const int64_t count : kCounts) {
      const std::vector<float> gradients = Numbers(count, 3);
      const std::vector<float> old_values = Numbers(count, 1);
      std::vector<float> values = old_values;
      std::vector<float> momenta(static_cast<size_t>(count), 0.2F);
      std::vector<float> squares(static_cast<size_t>(count), 0.3F);
      std::vector<float> means(static_cast<size_t>(count), -0.4F);
      ApplyRmsProp({0.5, 0.01, 0.9, 0.7, 0.1, 1e-3}, values.data(), gradients.data(), momenta.data(), squares.data(),
                   centered ? means.data() : nullptr, count);
      for (size_t i = 0; i < values.size(); ++i) {
        const double gradient = 0.5 * gradients[i] + 0.01 * old_values[i];
        const double square = 0.9 * 0.3 + 0.1 * gradient * gradient;
        const double mean = centered ? 0.9 * -0.4 + 0.1 * gradient : 0;
        const double update = 0.7 * 0.2 + gradient / (std::sqrt(square - mean * mean) + 1e-3);
        CHECK(squares[i] == Approx(square));
        CHECK(means[i] == Approx(centered ? mean : -0.4));
        CHECK(momenta[i] == Approx(update).margin(1e-6));
        CHECK(values[i] == Approx(old_values[i] - 0.1 * update).margin(1e-6));
      }
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

TEST_CASE("SGD's sweep follows its formula for every element", "[unit]") {
  for (const int64_t count : kCounts) {
    const std::vector<float> gradients = Numbers(count, 3);
    const std::vector<float> old_values = Numbers(count, 1);
    std::vector<float> values = old_values;
    std::vector<float> momenta(static_cast<size_t>(count), 0.2F);
    ApplySgd({0.5, 0.01, 0.7, 0.1}, values.data(), gradients.data(), momenta.data(), count);
    for (size_t i = 0; i < values.size(); ++i) {
      const double update = 0.7 * 0.2 + 0.5 * gradients[i] + 0.01 * old_values[i];
      CHECK(momenta[i] == Approx(update).margin(1e-6));
      CHECK(values[i] == Approx(old_values[i] - 0.1 * update).margin(1e-6));
    }
  }
}

}  // namespace
}  // namespace waggle
