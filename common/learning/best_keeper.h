#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/api/hub.h"
#include "common/api/model.h"

namespace waggle {

// The folder, below a learner's output folder, that holds the weights with the run's best evaluation; see
// common/checkpoint/saved_model.h.
inline constexpr char kBestFolder[] = "best";

// Fetches the best weights of a run that is over and writes them below `output_dir`. Does nothing if nothing was
// evaluated. Blocks on the network and the disk; no stop ends that.
absl::Status KeepBest(const Assignment& over, const std::string& output_dir, ModelSubscriber* subscriber);

}  // namespace waggle
