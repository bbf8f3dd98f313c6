#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/threads/stop_token.h"
#include "common/config/plan/algorithm_plan.h"
#include "common/hub/ports/model.h"
#include "common/rl/training/trainee.h"

namespace waggle {

// Loads the parameter server's newest weights into `trainee`, for a learner that comes back without a checkpoint.
// Returns their step; nothing if the server has none. Waits for a server that is away: CANCELLED after a stop.
// FAILED_PRECONDITION if the weights are of another network.
absl::StatusOr<std::optional<int64_t>> LoadPublishedWeights(ModelSubscriber* subscriber, const StopToken& stop,
                                                            Trainee* trainee);

// The state that such a learner lacks, in words. Only the weights of the acting network are published: all else of the
// plan begins as in a new run, except that network's target, which is set to it.
std::string NotPublished(const AlgorithmPlan& plan);

}  // namespace waggle
