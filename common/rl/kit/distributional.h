#pragma once

#include "common/nn/torch.h"

// Losses and targets of algorithms that learn distributions of values. May throw as LibTorch does.

namespace waggle {

// values[..., choice, :] for each choice, int64 [...]; values are [..., choices, size]. NaN for a choice out of range,
// so that the loss shows it.
torch::Tensor AtChoices(const torch::Tensor& values, const torch::Tensor& choices);

// C51's projection (arXiv 1707.06887, algorithm 1): the distribution of reward + bootstrap * z for atoms z, evenly
// spaced from low to high, with each probability shared between the two nearest atoms. `probabilities` is [rows,
// atoms], `reward` and `bootstrap` [rows]. Values beyond the ends count as the ends. With a bootstrap of 0 the
// probabilities are ignored, even if they are not finite. A constant; rows sum to 1.
torch::Tensor ProjectedAtoms(const torch::Tensor& probabilities, const torch::Tensor& reward,
                             const torch::Tensor& bootstrap, double low, double high);

// The quantile Huber loss (arXiv 1710.10044, equation 10) of each row, [rows]: of quantiles [rows, N] at fractions
// [rows, N] or [N], by targets [rows, M], summed over quantiles and averaged over targets. With a threshold of 0 the
// loss is quantile regression's own. Targets are constants.
torch::Tensor QuantileLoss(const torch::Tensor& quantiles, const torch::Tensor& fractions, const torch::Tensor& targets,
                           double threshold = 1);

// The middles of `count` equal parts of [0, 1], [count], of the type and device of `like`.
torch::Tensor MiddleFractions(int64_t count, const torch::Tensor& like);

}  // namespace waggle
