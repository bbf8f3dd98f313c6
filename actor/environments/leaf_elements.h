#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// Checks of the elements in a leaf's arrays, which may have any alignment.

// INVALID_ARGUMENT, "action/move[1]: got 5; wanted an integer in [0, 2]", for the first element that is NaN or outside
// the leaf's space.
absl::Status CheckElements(const SpaceLeaf& leaf, const void* array);

// INVALID_ARGUMENT if a network cannot take the observation: a choice is outside its leaf's space, or a number is not
// finite. Numbers outside a box are accepted, as many environments give them.
absl::Status CheckObservation(const SpaceLeaf& leaf, const void* array);

// INVALID_ARGUMENT that names an element and its value. `why`: "wanted …".
absl::Status ElementRefusal(const SpaceLeaf& leaf, const void* array, int64_t element, const std::string& why);

}  // namespace waggle
