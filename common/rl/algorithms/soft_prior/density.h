#pragma once

#include "common/nn/torch.h"
#include "common/rl/algorithms/soft_prior/definition.h"

namespace waggle {

// The logarithm of the density of a normal distribution that is cut off at -1 and 1, at each element of `x`, [...].
// `mean`, [...] or without dimensions, is in [-1, 1]; `deviation`, above 0, is the normal's own, before the cut.
torch::Tensor LogTruncatedNormal(const torch::Tensor& x, const torch::Tensor& mean, double deviation);

// The logarithm of the prior's density of actions, [..., elements] in [-1, 1] -> [...]: the sum over elements. The type
// is not none. Only same_action reads the others: `before`, [..., elements], are the actions before these, and `first`,
// bool [...], is true for an episode's first action, which has none before it. LibTorch may throw.
torch::Tensor LogPrior(const SoftPriorOptions& options, const torch::Tensor& action, const torch::Tensor& before,
                       const torch::Tensor& first);

}  // namespace waggle
