#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace waggle {

// How often a lane acts at random in Ape-X: base ^ (1 + alpha * lane / (all_lanes - 1)), so that some lanes explore
// much and some little. The only lane of a run gets `base`.
inline double LadderEpsilon(double base, double alpha, int64_t lane, int64_t all_lanes) {
  const double position =
      all_lanes > 1 ? static_cast<double>(std::min(lane, all_lanes - 1)) / static_cast<double>(all_lanes - 1) : 0;
  return std::pow(base, 1 + alpha * position);
}

}  // namespace waggle
