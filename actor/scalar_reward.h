#pragma once

#include <vector>

#include "absl/types/span.h"
#include "common/tensor/array_spec.h"

namespace waggle {

// The one number that a step's rewards come to, of which episode returns are made and which an initial priority sees:
// the sum over a reward's dimensions, and the mean over the agents, each of whom has one of `rewards`. An array of
// `values` is [lanes, …] of the reward of the same index. A single scalar reward is itself.
double ScalarReward(const std::vector<ArraySpec>& rewards, absl::Span<const float* const> values, size_t lane);

}  // namespace waggle
