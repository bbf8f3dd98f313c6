#pragma once

#include <cmath>

#include "absl/status/status.h"

namespace waggle {

// An item's weight: (priority + epsilon) ^ exponent. With exponent 0 all items have the weight 1.
struct PriorityWeight {
  double exponent = 1;
  double epsilon = 0;
  // The sum of 2^31 of these is finite.
  static constexpr double kMax = 1e290;

  // A priority that has passed Validate with another exponent counts as kMax at most, so that sums are finite.
  double operator()(double priority) const {
    const double base = priority + epsilon;
    if (exponent == 1) {
      return base < kMax ? base : kMax;
    }
    const double weight = exponent == 0.5 ? std::sqrt(base) : std::pow(base, exponent);
    return weight < kMax ? weight : kMax;
  }

  // INVALID_ARGUMENT if the priority is negative, not finite, or so large that a sum of weights could overflow.
  absl::Status Validate(double priority) const;
};

}  // namespace waggle
