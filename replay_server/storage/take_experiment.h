#pragma once

#include <string>

#include "absl/status/status.h"
#include "replay_server/storage/database.h"

namespace waggle {

// Replaces the tables and writers of an experiment in database `to` by those in `from`, with their rows. All other
// tables stay. Both must be databases of one server, at different moments: what has one number is one thing. Nothing
// else may use them meanwhile. An error leaves `to` in an unknown state.
//
// FAILED_PRECONDITION if a writer has also written to tables of other experiments, or if one number means different
// things; DATA_LOSS for damage; the disk's errors.
absl::Status TakeExperiment(const std::string& experiment, Database* from, Database* to);

}  // namespace waggle
