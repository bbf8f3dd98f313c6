#pragma once

#include <cmath>
#include <cstdint>
#include <map>

#include "tests/support/catch.h"

namespace waggle::testing {

// The bound that chance exceeds once in 10 000 times, with `degrees` degrees of freedom (Wilson and Hilferty).
inline double ChiSquareBound(double degrees) {
  const double part = 2 / (9 * degrees);
  return degrees * std::pow(1 - part + 3.719 * std::sqrt(part), 3);
}

// Checks the draws of each item against its share of the sum of all weights. The bound is for independent draws;
// stratified ones vary less.
inline void CheckChiSquare(const std::map<int64_t, int64_t>& counts, const std::map<int64_t, double>& weights) {
  double sum = 0;
  for (const auto& [id, weight] : weights) {
    sum += weight;
  }
  double drawn = 0;
  for (const auto& [id, count] : counts) {
    REQUIRE(weights.count(id) == 1);
    drawn += static_cast<double>(count);
  }
  double statistic = 0;
  for (const auto& [id, weight] : weights) {
    const double expected = drawn * weight / sum;
    const auto found = counts.find(id);
    const double count = found == counts.end() ? 0 : static_cast<double>(found->second);
    statistic += (count - expected) * (count - expected) / expected;
  }
  REQUIRE(statistic < ChiSquareBound(static_cast<double>(weights.size()) - 1));
}

}  // namespace waggle::testing
