#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/api/hub.h"
#include "common/api/model.h"

namespace waggle {

// Folder in a learner's output folder with the weights of the best evaluation; see common/checkpoint/saved_model.h.
inline constexpr char kBestFolder[] = "best";

// Writes an ended run's best weights, if any, to `output_dir`. Blocks on network and disk and ignores stops.
absl::Status KeepBest(const Assignment& over, const std::string& output_dir, ModelSubscriber* subscriber);

}  // namespace waggle
