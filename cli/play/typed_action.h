#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "actor/leaf_arrays.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// What to type for an action, in a line: "action: int64 of 2 choices".
std::string WantedAction(const EnvironmentSpec& environment);

// Reads an action that somebody has typed: a number for each element of each action leaf, in their order, with spaces
// or commas between. It becomes row 0 of `actions`, in the form in which a policy gives it. `observations`: what the
// environment shows, an array for each leaf. INVALID_ARGUMENT for what is no number, too many or too few of them, one
// out of its range, and a choice that a mask forbids.
absl::Status ReadTypedAction(const EnvironmentSpec& environment, const std::string& line,
                             absl::Span<void* const> observations, const LeafArrays& actions);

}  // namespace waggle
