#pragma once

#include "absl/status/status.h"
#include "common/config/experiment/experiment.h"

namespace waggle {

// Checks the population of an experiment against its other sections; OK without one. INVALID_ARGUMENT with a line for
// each problem, behind its key.
absl::Status CheckPopulation(const Experiment& experiment);

}  // namespace waggle
