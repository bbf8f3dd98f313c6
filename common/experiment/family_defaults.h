#pragma once

#include <cstdint>
#include <vector>

#include "common/experiment/experiment.h"

namespace waggle {

// A network whose torso is dense layers of these widths.
NetworkSpec Mlp(std::vector<int64_t> units);

// A network with a policy and a value that share nothing: dense layers of these widths each. Initialised as in "The 37
// implementation details of PPO" (Huang et al., 2022): orthogonal, and a policy that begins close to uniform.
NetworkSpec ActorCritic(std::vector<int64_t> units);

// The importance_exponent of most algorithms: nearly unbiased late in the run, when bias matters most.
inline Schedule AnnealedImportance() {
  return Schedule::Linear(0.4, 1, Schedule::Clock::kLearnerSteps, 100'000);
}

// For algorithms that learn from old transitions with a learner step for each environment step: uniform replay of a
// million items, batches of 256, and acting by weights that are a few steps old.
void OffPolicyDefaults(Experiment* experiment);

// For algorithms that learn from the newest weights' actions: a queue, from which a learner step takes an item of each
// lane, and weights that are published at once.
void OnPolicyDefaults(Experiment* experiment);

// OnPolicyDefaults for algorithms whose network is that of ActorCriticPlan and whose actors wait for each learner step:
// the learner never sees actions of older weights.
void ActorCriticDefaults(Experiment* experiment);

// For algorithms that learn from unrolls of actors that do not wait: a short queue and batches of a fixed size. Actors
// that are faster than the learner wait for room in the queue, so that their data does not grow old.
void AsynchronousDefaults(Experiment* experiment);

// The replay section of OnPolicyDefaults: a queue.
ReplayOptions OnPolicyReplay();

}  // namespace waggle
