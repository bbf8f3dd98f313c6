#pragma once

#include <vector>

#include "absl/types/span.h"
#include "common/base/tensor/array_spec.h"

namespace waggle {

// ScalarReward for any number of rewards and dimensions.
double SumOfRewards(const std::vector<ArraySpec>& rewards, absl::Span<const float* const> values, size_t row);

// A step's rewards as one number, for episode returns and initial priorities: the sum over a reward's dimensions, and
// the mean over the agents, each of which has one of `rewards`. An array of `values` is [rows, …] of the reward of the
// same index. A single scalar reward is unchanged.
inline double ScalarReward(const std::vector<ArraySpec>& rewards, absl::Span<const float* const> values, size_t row) {
  return rewards.size() == 1 && rewards[0].shape.empty() ? static_cast<double>(values[0][row])
                                                         : SumOfRewards(rewards, values, row);
}

}  // namespace waggle
