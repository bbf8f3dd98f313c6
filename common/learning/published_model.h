#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "common/api/model.h"
#include "common/base/stop_token.h"

namespace waggle {

// The newest published weights; nothing if there are none. Waits for a server that is away, until a stop: then
// CANCELLED.
absl::StatusOr<std::optional<ModelSnapshot>> PullNewest(ModelSubscriber* subscriber, const StopToken& stop);

// Publishes the weights that a run begins with, as version 0 of epoch 0, unless some are published: every process that
// computes them from the run's seed gets the same. Errors as ModelPublisher::Publish.
absl::Status PublishFirst(ModelSnapshot weights, ModelPublisher* publisher, const StopToken& stop);

}  // namespace waggle
