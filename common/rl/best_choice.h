#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace waggle {

// The index of the largest of `count` values, at least one: the first of several; where some are NaN, the first of
// these, as torch::argmax has it, so that whoever looks at the best value sees that it is none.
inline int64_t BestChoice(const float* values, int64_t count) {
  const auto is_less = [](float a, float b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
  return std::max_element(values, values + count, is_less) - values;
}

}  // namespace waggle
