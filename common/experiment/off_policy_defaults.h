#pragma once

#include <cstdint>
#include <vector>

#include "common/experiment/experiment.h"

namespace waggle {

// A network whose torso is dense layers of these widths.
NetworkSpec Mlp(std::vector<int64_t> units);

// For algorithms that learn from old transitions with a learner step for each environment step: uniform replay of a
// million items, batches of 256, and acting by weights that are a few steps old.
void OffPolicyDefaults(Experiment* experiment);

}  // namespace waggle
