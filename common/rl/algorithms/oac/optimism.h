#pragma once

#include "common/nn/torch.h"

namespace waggle {

// The mean of values plus `optimism` standard deviations of them, [critics, rows] -> [rows]. If they are equal, the
// deviation has no gradient. (1) of arXiv 1910.12807, for any number of critics.
torch::Tensor UpperBound(const torch::Tensor& values, double optimism);

// The mean, [rows, dimensions], of the normal distribution with these deviations that is this KL divergence, in nats,
// away from the given one, in the direction in which a function with this gradient grows most (proposition 1 of arXiv
// 1910.12807, for each row). A row without a gradient keeps its mean.
torch::Tensor OptimisticMean(const torch::Tensor& mean, const torch::Tensor& stddev, const torch::Tensor& gradient,
                             double divergence);

}  // namespace waggle
