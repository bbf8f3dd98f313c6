#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environments/vector_environment.h"
#include "actor/evaluation/evaluator.h"
#include "common/base/threads/stop_token.h"
#include "common/config/plan/table_plan.h"
#include "common/replay/ports/replay.h"
#include "common/rl/acting/policy.h"

namespace waggle {

// The table that recorded episodes fill: rows with every leaf of the environment, the discount and the step type. An
// item is one step of an episode, two rows. Its view has the first row and the second row's observations.
TablePlan RecordedTable(const EnvironmentSpec& environment);

// Rows of a chunk of such a stream.
inline constexpr int64_t kRecordedChunkRows = 256;

// Runs whole episodes and writes all their rows to `sink`, which fills RecordedTable. An episode's last row has the
// final observation, and zeros for the action and its results. Actions are written as the policy chose them: see
// ScaleAction. `environment` has one lane and `policy` one slot. UNAVAILABLE if the environment broke off an episode;
// CANCELLED after a stop.
absl::StatusOr<EpisodeOutcomes> RecordEpisodes(int64_t episodes, ActMode mode, VectorEnvironment* environment,
                                               Policy* policy, ReplayWriter* sink, const StopToken& stop);

}  // namespace waggle
