#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/importing/episode_source.h"
#include "actor/writing/trajectory_writer.h"
#include "common/base/threads/stop_token.h"
#include "common/config/plan/table_plan.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// The episodes of a source, and their steps: rows without the last ones.
struct RecordedCounts {
  int64_t episodes = 0;
  int64_t steps = 0;
};

// INVALID_ARGUMENT unless the source has a column of each leaf of the environment, discounts and step types, and its
// own environment, if it says one, has the same spaces.
absl::Status CheckSource(const EpisodeSource& source, const EnvironmentSpec& environment);

// Reads all rows of a source that has passed CheckSource. INVALID_ARGUMENT, naming the row, if a number is not finite,
// an action or a choice of an observation is outside its space, or the rows are not whole episodes. CANCELLED after a
// stop. Rewinds the source.
absl::StatusOr<RecordedCounts> CheckEpisodes(EpisodeSource* source, const EnvironmentSpec& environment,
                                             const StopToken& stop);

// Writes all episodes of a source that has passed the checks, each to the next one of the writer's `lanes` lanes, and
// flushes the writer. Waits while the tables are full. CANCELLED after a stop.
absl::Status ImportEpisodes(EpisodeSource* source, const EnvironmentSpec& environment, int64_t lanes,
                            TrajectoryWriter* writer, const StopToken& stop);

}  // namespace waggle
