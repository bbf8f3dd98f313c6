#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "actor/evaluation/evaluator.h"
#include "actor/vector_environment.h"
#include "common/base/stop_token.h"
#include "common/rl/policy.h"

namespace waggle {

// RecordEpisodes to a new replay file (common/replay_file). ALREADY_EXISTS if the path is taken; nothing is left behind
// after an error.
absl::StatusOr<EpisodeOutcomes> RecordToFile(const std::string& path, int64_t episodes, ActMode mode,
                                             VectorEnvironment* environment, Policy* policy, const StopToken& stop);

}  // namespace waggle
