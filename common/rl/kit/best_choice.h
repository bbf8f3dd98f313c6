#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace waggle {

// The index of the first of the largest of `count` values (at least one), or of the first NaN, as torch::argmax.
inline int64_t BestChoice(const float* values, int64_t count) {
  const auto is_less = [](float a, float b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
  return std::max_element(values, values + count, is_less) - values;
}

}  // namespace waggle
