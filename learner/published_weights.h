#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "common/api/model.h"
#include "common/base/stop_token.h"
#include "common/rl/trainee.h"

namespace waggle {

// Puts the newest weights that the parameter server has into `trainee`, for a learner that comes back without a
// checkpoint. Returns the step that they are of; nothing where the server has none. Waits for a server that is away:
// CANCELLED after a stop. FAILED_PRECONDITION where they are of another network.
absl::StatusOr<std::optional<int64_t>> LoadPublishedWeights(ModelSubscriber* subscriber, const StopToken& stop,
                                                            Trainee* trainee);

}  // namespace waggle
