#pragma once

#include "absl/status/status.h"
#include "common/config/experiment/experiment.h"

namespace waggle {

// INVALID_ARGUMENT, behind its key, if a run of the experiment can have no cuts (docs/cuts.md).
absl::Status CheckCuts(const Experiment& experiment);

}  // namespace waggle
