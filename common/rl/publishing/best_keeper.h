#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/metrics/metrics.h"
#include "common/hub/ports/hub.h"
#include "common/hub/ports/model.h"

namespace waggle {

// Folder in a learner's output folder with the weights of the best evaluation; see common/rl/checkpoint/saved_model.h.
inline constexpr char kBestFolder[] = "best";

// Writes an ended run's best weights, if any, to `output_dir`. Blocks on network and disk and ignores stops.
absl::Status KeepBest(const Assignment& over, const std::string& output_dir, ModelSubscriber* subscriber);

// Ends a learner's or a primary's part in a run. `model`: the model's name after the run's end, or the reason why
// training ended before. After a stop of training alone, holds the seat until the run is over, or the hub would fill it
// again. Keeps the best weights below `output_dir`, unless it is empty; a failure of that is only logged, as the hub
// has them too. Returns the status of WorkResult.
absl::Status EndTraining(const absl::StatusOr<std::string>& model, const std::string& output_dir, HubLink* hub,
                         Metrics* metrics,
                         const std::function<std::unique_ptr<ModelSubscriber>(const std::string&)>& new_subscriber);

}  // namespace waggle
