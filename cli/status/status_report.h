#pragma once

#include <string>

#include "absl/time/time.h"
#include "cli/status/cluster_client.h"

namespace waggle {

// `waggle status ID`: each process, each table and the model, for people and for programs: with the fields of
// summary.json as they stand, on one line where `indent` is negative. Pure functions.
std::string StatusText(const ClusterSnapshot& snapshot, absl::Time now);
std::string StatusJson(const ClusterSnapshot& snapshot, int indent = 2);

}  // namespace waggle
