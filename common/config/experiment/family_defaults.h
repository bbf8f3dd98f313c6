#pragma once

#include <cstdint>
#include <vector>

#include "common/config/experiment/experiment.h"

namespace waggle {

// A network whose torso is dense layers of these widths.
NetworkSpec Mlp(std::vector<int64_t> units);

// The importance_exponent of most algorithms: nearly unbiased late in the run, when bias matters most.
inline Schedule AnnealedImportance() {
  return Schedule::Linear(0.4, 1, Schedule::Clock::kLearnerSteps, 100'000);
}

// For algorithms that replay what is fresh too: little is on its way to a table or a learner, and what was learned acts
// within milliseconds.
void FreshDataDefaults(Experiment* experiment);

// For algorithms that learn from old transitions with a learner step for each environment step: uniform replay of a
// million items, batches of 256, and acting by weights that are a few steps old.
void OffPolicyDefaults(Experiment* experiment);

// For algorithms that learn from the newest weights' actions: a queue, from which a learner step takes an item of each
// lane, and weights that are published at once.
void OnPolicyDefaults(Experiment* experiment);

// The replay section of OnPolicyDefaults: a queue.
ReplayOptions OnPolicyReplay();

}  // namespace waggle
