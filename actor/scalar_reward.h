#pragma once

#include <vector>

#include "absl/types/span.h"
#include "common/tensor/array_spec.h"

namespace waggle {

// What ScalarReward is made of, however many rewards and dimensions there are.
double SumOfRewards(const std::vector<ArraySpec>& rewards, absl::Span<const float* const> values, size_t row);

// The one number that a step's rewards come to, of which episode returns are made and which an initial priority sees:
// the sum over a reward's dimensions, and the mean over the agents, each of whom has one of `rewards`. An array of
// `values` is [rows, …] of the reward of the same index. A single scalar reward is itself.
inline double ScalarReward(const std::vector<ArraySpec>& rewards, absl::Span<const float* const> values, size_t row) {
  return rewards.size() == 1 && rewards[0].shape.empty() ? static_cast<double>(values[0][row])
                                                         : SumOfRewards(rewards, values, row);
}

}  // namespace waggle
