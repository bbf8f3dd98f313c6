#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace waggle {

// The weights that undo the bias of prioritised sampling: (N P)^-beta, divided by the largest of the whole batch, as
// float32. N cancels in that. `probability` is [rows], positive; beta in [0, 1]. A pure function; may throw as LibTorch
// does.
inline torch::Tensor ImportanceWeights(const torch::Tensor& probability, double beta) {
  return (probability.min() / probability).pow_(beta).to(torch::kFloat32);
}

// An exponent that goes from `first` to `last` in a straight line over `steps` steps; `last` at once if that is 0.
inline double AnnealedExponent(double first, double last, int64_t steps, int64_t step) {
  if (step >= steps) {
    return last;
  }
  return first + (last - first) * static_cast<double>(step) / static_cast<double>(steps);
}

}  // namespace waggle
