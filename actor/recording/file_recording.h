#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "actor/environments/vector_environment.h"
#include "actor/evaluation/evaluator.h"
#include "actor/importing/episode_importer.h"
#include "common/base/threads/stop_token.h"
#include "common/rl/acting/policy.h"

namespace waggle {

// RecordEpisodes to a new replay file (common/replay/file). ALREADY_EXISTS if the path is taken; nothing is left behind
// after an error.
absl::StatusOr<EpisodeOutcomes> RecordToFile(const std::string& path, int64_t episodes, ActMode mode,
                                             VectorEnvironment* environment, Policy* policy, const StopToken& stop);

// Writes all episodes of a source to a new replay file, once they have passed CheckEpisodes. Errors as above.
absl::StatusOr<RecordedCounts> CopyToFile(EpisodeSource* source, const std::string& path, const StopToken& stop);

}  // namespace waggle
