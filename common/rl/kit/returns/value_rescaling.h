#pragma once

#include <cmath>

namespace waggle {

// Values on a smaller scale (Pohlen et al. 2018, arXiv 1805.11593): h(x) = sign(x) (sqrt(|x| + 1) - 1) + epsilon x,
// with slopes from 1/2 + epsilon at 0 down to epsilon >= 0. One learning rate then suits returns of any size.
inline double RescaledValue(double value, double epsilon) {
  const double size = std::abs(value);
  // (sqrt(size + 1) - 1) without cancellation.
  return std::copysign(size / (std::sqrt(size + 1) + 1), value) + epsilon * value;
}

// h^-1, the inverse of RescaledValue.
inline double UnrescaledValue(double rescaled, double epsilon) {
  const double size = std::abs(rescaled) + 1 + epsilon;
  // sqrt(|x| + 1), the positive root of epsilon r^2 + r - size = 0.
  const double root = 2 * size / (std::sqrt(1 + 4 * epsilon * size) + 1);
  return std::copysign((root - 1) * (root + 1), rescaled);
}

}  // namespace waggle
