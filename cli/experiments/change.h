#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/command_line.h"

namespace waggle {

// The verbs that change experiments: one, several or those of a group.

// "stop", "resume", "delete", "priority", "checkpoint".
const char* ChangeName(ChangeFlags::Change change);

struct Changed {
  std::string text;                  // For the standard output: the experiments that were changed.
  std::vector<absl::Status> errors;  // Why the others were not changed; each names its experiment.
};
// The experiments are changed one after the other, in their order; `stop` begins with the last, so that no queued one
// begins meanwhile. An error only if a word stands for no experiment, or for several that are no group; nothing is
// changed then.
absl::StatusOr<Changed> Change(const ChangeFlags& flags);

// Sets numbers of an experiment, or of each member of a group. The text has the changes, one a line.
absl::StatusOr<Changed> SetNumbers(const SetFlags& flags);

}  // namespace waggle
