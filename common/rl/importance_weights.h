#pragma once

#include "common/nn/torch.h"

namespace waggle {

// The weights that undo the bias of prioritised sampling: (N P)^-beta, divided by the largest of the whole batch, as
// float32. N cancels in that. `probability` is [rows], positive, as batches have it: without an emphasis on the newest;
// beta in [0, 1]. A pure function; may throw as LibTorch does.
inline torch::Tensor ImportanceWeights(const torch::Tensor& probability, double beta) {
  return (probability.min() / probability).pow_(beta).to(torch::kFloat32);
}

}  // namespace waggle
