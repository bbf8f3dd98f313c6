#pragma once

#include <cmath>

#include "absl/status/status.h"

namespace waggle {

// What the probability of being drawn is proportional to: (priority + epsilon) ^ exponent. An exponent of 0 gives every
// item the weight 1.
struct PriorityWeight {
  double exponent = 1;
  double epsilon = 0;
  // 2^31 of these add up to a finite number.
  static constexpr double kMax = 1e290;

  // A sum of weights is always finite: a priority that has passed Validate with another exponent counts as the largest.
  double operator()(double priority) const {
    const double base = priority + epsilon;
    if (exponent == 1) {
      return base < kMax ? base : kMax;
    }
    const double weight = exponent == 0.5 ? std::sqrt(base) : std::pow(base, exponent);
    return weight < kMax ? weight : kMax;
  }

  // INVALID_ARGUMENT for a priority that is negative or not finite, or so large that a sum of weights could overflow.
  absl::Status Validate(double priority) const;
};

}  // namespace waggle
