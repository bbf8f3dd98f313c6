#pragma once

#include <cstdint>

// Without LibTorch, for compiler options of its own.

namespace waggle {

// QuantileLoss (common/rl/kit/distributional.h) of one row, and its gradient by the quantiles, from each pair of a
// quantile and a target. Sorted targets with prefix sums take fewer operations and, up to hundreds of targets, more
// time: their branches and gathers cannot be vectorised. Not finite if an argument is not.
float QuantileHuber(const float* quantiles, const float* fractions, int64_t num_quantiles, const float* targets,
                    int64_t num_targets, float threshold, float* gradient);

}  // namespace waggle
