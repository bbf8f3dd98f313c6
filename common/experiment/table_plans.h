#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "common/experiment/algorithm_definition.h"
#include "common/plan/table_plan.h"

namespace waggle {

// Under which name a batch has what an observation leaf shows after the window's last step: "next_observation/camera".
std::string NextName(absl::string_view observation);

// Transitions of `n_step` steps, fewer where an episode ends: every leaf of the observation at both ends, the action,
// and all rewards and discounts in between. Limits and sampler are the replay section's, the batch size is the
// learner's.
TablePlan TransitionTable(const PlanContext& context, int64_t n_step);

}  // namespace waggle
