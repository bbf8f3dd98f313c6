#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/api/model.h"
#include "common/base/stop_token.h"
#include "common/plan/algorithm_plan.h"
#include "common/rl/trainee.h"

namespace waggle {

// Puts the newest weights that the parameter server has into `trainee`, for a learner that comes back without a
// checkpoint. Returns the step that they are of; nothing where the server has none. Waits for a server that is away:
// CANCELLED after a stop. FAILED_PRECONDITION where they are of another network.
absl::StatusOr<std::optional<int64_t>> LoadPublishedWeights(ModelSubscriber* subscriber, const StopToken& stop,
                                                            Trainee* trainee);

// What such a learner does not have, in words: what is published are the weights of the network that acts, and all else
// of the plan begins as in a new run, but for the target of that network, which is set to it.
std::string NotPublished(const AlgorithmPlan& plan);

}  // namespace waggle
