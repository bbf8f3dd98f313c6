#pragma once

#include <string>

#include "absl/status/status.h"
#include "replay_server/storage/database.h"

namespace waggle {

// Replaces the tables and writers of an experiment in database `to` by those in `from`, with their rows. All other
// tables stay. Numbers of tables, writers and blocks must mean the same in both: they are databases of one server at
// different moments, or `to` has none of them. Nothing else may use them meanwhile. An error leaves `to` in an unknown
// state.
//
// FAILED_PRECONDITION if a newer server has written `from`, if a writer has also tables of other experiments, or if a
// number means different things; DATA_LOSS for damage; the disk's errors.
absl::Status TakeExperiment(const std::string& experiment, Database* from, Database* to);

}  // namespace waggle
