#pragma once

#include <cstdint>

namespace waggle {

// A value that goes from `first` to `last` in a straight line over `steps` steps; `last` at once if that is 0.
inline double Annealed(double first, double last, int64_t steps, int64_t step) {
  if (step >= steps) {
    return last;
  }
  return first + (last - first) * static_cast<double>(step) / static_cast<double>(steps);
}

}  // namespace waggle
