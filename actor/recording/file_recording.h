#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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

// The same to a new folder in Minari's layout, by a temporary replay file. `python`: see DatasetOptions. Errors of
// WriteMinari instead; CheckMinari's come before the first step.
absl::StatusOr<EpisodeOutcomes> RecordToMinari(const std::string& folder, const std::string& python, int64_t episodes,
                                               ActMode mode, VectorEnvironment* environment, Policy* policy,
                                               const StopToken& stop);

// Writes all episodes of the sources, at least one, to a new replay file, one source behind the other, once all have
// passed CheckSource, for the first one's environment, and CheckEpisodes. Errors as above, with the source's name.
absl::StatusOr<RecordedCounts> CopyToFile(const std::vector<std::unique_ptr<EpisodeSource>>& sources,
                                          const std::string& path, const StopToken& stop);

}  // namespace waggle
