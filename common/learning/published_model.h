#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "common/api/model.h"
#include "common/base/stop_token.h"

namespace waggle {

// The newest weights that were published; nothing where there are none. Waits for a server that is away, until a stop:
// then CANCELLED.
absl::StatusOr<std::optional<ModelSnapshot>> PullNewest(ModelSubscriber* subscriber, const StopToken& stop);

// Publishes the weights that a run begins with, as version 0 of epoch 0, unless there are some already: all who compute
// them from the run's seed have the same. Errors as of ModelPublisher::Publish.
absl::Status PublishFirst(ModelSnapshot weights, ModelPublisher* publisher, const StopToken& stop);

}  // namespace waggle
