#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/config/experiment/algorithm_definition.h"
#include "common/config/plan/table_plan.h"

namespace waggle {

// A batch's name for an observation leaf after the window's last step: "next_observation/camera".
std::string NextName(absl::string_view observation);

// Transitions of `n_step` steps, fewer if an episode ends: every leaf of the observation at both ends, the action, and
// all rewards and discounts in between. The replay section has the limits and the sampler, the learner the batch size.
TablePlan TransitionTable(const PlanContext& context, int64_t n_step);

// Sequences of an episode, sampled as the replay section says: `burn_in` steps, `steps` steps that are learned from,
// and a row that is only there for its observation; fewer if the episode ends. Each step of an episode is learned from
// in one sequence (see WindowPlan). Columns are those of UnrollTable, in all rows.
TablePlan SequenceTable(const PlanContext& context, const AlgorithmPlan& plan, int64_t steps, int64_t burn_in);

// A queue of unrolls, each of which is learned from once, in the order in which they were written: `steps` rows of a
// lane's stream and one more, which is only there for its observation. Every leaf of the observation, the action, all
// rewards, discounts and step types, and `plan`'s columns, in all rows. In an asynchronous plan an unroll's last row is
// the next one's first. INVALID_ARGUMENT, behind its key, if the replay section asks for something else than a queue.
absl::StatusOr<TablePlan> UnrollTable(const PlanContext& context, const AlgorithmPlan& plan, int64_t steps);

// The same for whole episodes, each an item once it has ended: its steps, and a row that is only there for its final
// observation. The actor fails if an episode has more than `longest_episode` steps.
absl::StatusOr<TablePlan> EpisodeTable(const PlanContext& context, const AlgorithmPlan& plan, int64_t longest_episode);

}  // namespace waggle
