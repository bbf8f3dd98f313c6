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

// From 1 to `epsilon` in a straight line over a lane's first `anneal_steps` steps.
inline double AnnealedEpsilon(double epsilon, int64_t anneal_steps, int64_t step) {
  if (step >= anneal_steps) {
    return epsilon;
  }
  return 1 + (epsilon - 1) * static_cast<double>(step) / static_cast<double>(anneal_steps);
}

}  // namespace waggle
