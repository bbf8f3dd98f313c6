#pragma once

#include <string>

#include "absl/time/time.h"
#include "cli/status/cluster_client.h"

namespace waggle {

// `waggle status ID`: each process, each table and the model, as text for people and as JSON for programs. The JSON has
// the current fields of summary.json, and is on one line if `indent` is negative. Pure functions.
std::string StatusText(const ClusterSnapshot& snapshot, absl::Time now);
std::string StatusJson(const ClusterSnapshot& snapshot, int indent = 2);

}  // namespace waggle
