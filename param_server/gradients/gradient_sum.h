#pragma once

#include <cstdint>
#include <vector>

namespace waggle {

struct ScaledGradient {
  const float* data = nullptr;
  float scale = 1;
};

// sum = Σ scale · data, element by element, added in the order of `gradients`. Each is `count` long; none overlaps
// `sum`.
void SumGradients(const std::vector<ScaledGradient>& gradients, int64_t count, float* sum);

}  // namespace waggle
