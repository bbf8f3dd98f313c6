#include "actor/writing/scalar_reward.h"

namespace waggle {

double SumOfRewards(const std::vector<ArraySpec>& rewards, absl::Span<const float* const> values, size_t row) {
  double sum = 0;
  for (size_t i = 0; i < rewards.size(); ++i) {
    const std::vector<int64_t>& shape = rewards[i].shape;  // Valid specs have scalars and vectors only.
    const size_t dimensions = shape.empty() ? 1 : static_cast<size_t>(shape[0]);
    const float* const of_row = values[i] + row * dimensions;
    for (size_t k = 0; k < dimensions; ++k) {
      sum += static_cast<double>(of_row[k]);
    }
  }
  return sum / static_cast<double>(rewards.size());
}

}  // namespace waggle
