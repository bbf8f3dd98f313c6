#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/rl/training/trainee.h"
#include "learner/group/collective.h"

namespace waggle {

// Replaces the members' saved state by the root's: all of it, or, after an error, nothing. ABORTED as the collective
// says; FAILED_PRECONDITION if this trainee's state is of another kind than the root's.
absl::Status ShareState(int rank, int root, const std::string& algorithm, Collective* collective, Trainee* trainee);

// Gives the root's text to all members. FAILED_PRECONDITION if it is far longer than any text of a learner.
absl::Status ShareText(int root, Collective* collective, std::string* text);

}  // namespace waggle
