#pragma once

#include "common/config/experiment/experiment.h"

namespace waggle {

// For algorithms that learn from recorded episodes (`replay.import`): uniform replay of all of them, and no actors.
void OfflineDefaults(Experiment* experiment);

}  // namespace waggle
