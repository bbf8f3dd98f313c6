#pragma once

#include "common/nn/torch.h"

namespace waggle {

// Weights that undo the bias of prioritised sampling: (N P)^-beta over the batch's largest, float32; N cancels out.
// `probability` [rows] must be positive, without emphasis on the newest; beta in [0, 1]. May throw as LibTorch does.
inline torch::Tensor ImportanceWeights(const torch::Tensor& probability, double beta) {
  return (probability.min() / probability).pow_(beta).to(torch::kFloat32);
}

}  // namespace waggle
