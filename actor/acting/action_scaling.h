#pragma once

#include <cstdint>

#include "common/config/spec/space_leaf.h"

namespace waggle {

// True if actions of this leaf are scaled: it is a kBox of float32, and some element has finite bounds on both sides.
bool IsScaledAction(const SpaceLeaf& action);

// Converts a policy's action, which streams also have, to the environment's. An element with finite bounds on both
// sides is clamped to [-1, 1] and stretched to the bounds. Other elements stay as they are, and so does NaN, which the
// environment refuses. Both arrays have the leaf's elements. IsScaledAction(action) must be true.
void ScaleAction(const SpaceLeaf& action, const float* chosen, float* scaled);

}  // namespace waggle
