#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// Checks of the elements in a leaf's arrays, which may have any alignment.

// INVALID_ARGUMENT, "action/move[1]: got 5; wanted an integer in [0, 2]", for the first element that is outside the
// leaf's space or NaN.
absl::Status CheckElements(const SpaceLeaf& leaf, const void* array);

// INVALID_ARGUMENT for an observation that a network cannot take: a choice outside its leaf's space, or a number that
// is not finite. Numbers outside a box are taken: many environments give them.
absl::Status CheckObservation(const SpaceLeaf& leaf, const void* array);

// INVALID_ARGUMENT that names an element and what it is. `why`: "wanted …".
absl::Status ElementRefusal(const SpaceLeaf& leaf, const void* array, int64_t element, const std::string& why);

}  // namespace waggle
