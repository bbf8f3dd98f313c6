#include "common/rl/algorithms/oac/optimism.h"

#include <cmath>

namespace waggle {

torch::Tensor UpperBound(const torch::Tensor& values, double optimism) {
  const torch::Tensor mean = values.mean(0);
  // Unlike a square root, the norm has a finite gradient at 0.
  return mean + (values - mean).norm(2, 0) * (optimism / std::sqrt(static_cast<double>(values.size(0))));
}

torch::Tensor OptimisticMean(const torch::Tensor& mean, const torch::Tensor& stddev, const torch::Tensor& gradient,
                             double divergence) {
  torch::Tensor scaled = stddev * gradient;
  scaled = scaled / scaled.abs().amax(-1, /*keepdim=*/true).clamp_min(1e-30);  // Squares of small numbers would be 0.
  const torch::Tensor direction = scaled / scaled.norm(2, -1, /*keepdim=*/true).clamp_min(1e-30);
  return mean + std::sqrt(2 * divergence) * stddev * direction;
}

}  // namespace waggle
