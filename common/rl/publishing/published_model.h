#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/ports/model.h"

namespace waggle {

// The newest published weights; null if there are none. Waits for an absent server until a stop: then CANCELLED.
absl::StatusOr<std::optional<ModelSnapshot>> PullNewest(ModelSubscriber* subscriber, const StopToken& stop);

// Publishes a run's initial weights as version 0 of epoch 0, unless some are published: all processes compute the same
// ones from the seed. Errors are ModelPublisher::Publish's.
absl::Status PublishFirst(ModelSnapshot weights, ModelPublisher* publisher, const StopToken& stop);

}  // namespace waggle
