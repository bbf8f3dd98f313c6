#pragma once

#include <string>

#include "absl/time/time.h"
#include "cli/status/cluster_client.h"

namespace waggle {

// `waggle status`: each process, each table and the model, for people and for programs. Pure functions.
std::string StatusText(const ClusterSnapshot& snapshot, absl::Time now);
std::string StatusJson(const ClusterSnapshot& snapshot, absl::Time now);

}  // namespace waggle
