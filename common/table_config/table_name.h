#pragma once

#include <string>

#include "absl/strings/string_view.h"

// A replay server holds the tables of several experiments. Those of one are called "EXPERIMENT/TABLE" there; all else
// knows them as TABLE.

namespace waggle {

// Of a table of this experiment; an empty one stands for none, and leaves the name as it is.
std::string TableNameOf(absl::string_view experiment_id, absl::string_view table);

// What is before the first '/'; empty where there is none: the table belongs to no experiment.
absl::string_view ExperimentOfTable(absl::string_view name);

// The name without the experiment: what follows from a table's name is the same in each experiment that is run again.
absl::string_view PlainTableName(absl::string_view name);

}  // namespace waggle
