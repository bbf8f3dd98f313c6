#pragma once

#include <vector>

#include "common/nn/torch.h"

namespace waggle {

// What an environment's steps show: a tensor for each leaf of its observations, in their order, [rows, …] each.
using Observations = std::vector<torch::Tensor>;

// Rows of a, then rows of b.
inline Observations Concatenated(const Observations& a, const Observations& b) {
  Observations both;
  both.reserve(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    both.push_back(torch::cat({a[i], b[i]}));
  }
  return both;
}

// The rows of these indices, int64, counted along dimension `dimension`.
inline Observations Selected(const Observations& observations, const torch::Tensor& rows, int64_t dimension = 0) {
  Observations selected;
  selected.reserve(observations.size());
  for (const torch::Tensor& leaf : observations) {
    selected.push_back(leaf.index_select(dimension, rows));
  }
  return selected;
}

}  // namespace waggle
