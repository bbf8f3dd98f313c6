#pragma once

#include <cstdint>

#include "common/spec/space_leaf.h"

namespace waggle {

// Whether actions of this leaf are scaled: a kBox of float32 that has finite bounds on both sides of some element.
bool IsScaledAction(const SpaceLeaf& action);

// From what a policy chose, which is also what the stream has, to what the environment gets. An element with finite
// bounds on both sides is clamped to [-1, 1], which is stretched to the bounds; every other one stays as it is, and so
// does NaN, which the environment refuses. Both arrays have the leaf's elements, and it is IsScaledAction.
void ScaleAction(const SpaceLeaf& action, const float* chosen, float* scaled);

}  // namespace waggle
