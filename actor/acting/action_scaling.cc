#include "actor/acting/action_scaling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace waggle {
namespace {

// A bound beyond the largest float32 counts as absent.
bool HasBothBounds(const SpaceLeaf& action, int64_t element) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return action.Low(element) >= -kLargest && action.High(element) <= kLargest;
}

}  // namespace

bool IsScaledAction(const SpaceLeaf& action) {
  if (action.kind != SpaceKind::kBox || action.array.dtype != DType::kFloat32) {
    return false;
  }
  for (int64_t i = 0; i < static_cast<int64_t>(action.low.size()); ++i) {
    if (HasBothBounds(action, i)) {
      return true;
    }
  }
  return false;
}

void ScaleAction(const SpaceLeaf& action, const float* chosen, float* scaled) {
  const int64_t elements = action.array.NumElements();
  for (int64_t i = 0; i < elements; ++i) {
    if (!HasBothBounds(action, i)) {
      scaled[i] = chosen[i];
      continue;
    }
    // A sum of both shares, rather than low + share * (high - low): each end is met exactly.
    const double share = (std::clamp(static_cast<double>(chosen[i]), -1.0, 1.0) + 1) / 2;
    scaled[i] = static_cast<float>((1 - share) * action.Low(i) + share * action.High(i));
  }
}

}  // namespace waggle
