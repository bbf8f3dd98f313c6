#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "actor/environments/leaf_arrays.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// The wanted input for an action, in one line: "action: int64 of 2 choices".
std::string WantedAction(const EnvironmentSpec& environment);

// Reads a typed action: a number for each element of each action leaf, in their order, separated by spaces or commas.
// Writes it to row 0 of `actions`, in the form of a policy's actions. `observations` are the environment's, one array
// for each leaf. INVALID_ARGUMENT for a word that is not a number, too many or too few numbers, a number out of its
// range, and a choice that a mask forbids.
absl::Status ReadTypedAction(const EnvironmentSpec& environment, const std::string& line,
                             absl::Span<void* const> observations, const LeafArrays& actions);

}  // namespace waggle
