#pragma once

#include <string>

#include "absl/strings/string_view.h"

// A replay server holds the tables of several experiments. Those of one are called "EXPERIMENT/TABLE" there, and TABLE
// everywhere else.

namespace waggle {

// The server's name for a table of this experiment. Without an experiment the name does not change.
std::string TableNameOf(absl::string_view experiment_id, absl::string_view table);

// The part before the first '/'; empty if there is none: the table belongs to no experiment.
absl::string_view ExperimentOfTable(absl::string_view name);

// The name without the experiment: values that follow from it are the same each time the experiment is run.
absl::string_view PlainTableName(absl::string_view name);

}  // namespace waggle
