#pragma once

#include <cstdint>
#include <vector>

#include "common/experiment/experiment.h"

namespace waggle {

// A network whose torso is dense layers of these widths.
NetworkSpec Mlp(std::vector<int64_t> units);

// One with a policy and a value, which share nothing: dense layers of these widths each. Initialised as "The 37
// implementation details of PPO" (Huang et al., 2022) have it: orthogonal, and a policy that begins close to uniform.
NetworkSpec ActorCritic(std::vector<int64_t> units);

// The importance_exponent of most algorithms: nearly unbiased late, when it matters most.
inline Schedule AnnealedImportance() {
  return Schedule::Linear(0.4, 1, Schedule::Clock::kLearnerSteps, 100'000);
}

// For algorithms that learn from old transitions with a learner step for each environment step: uniform replay of a
// million items, batches of 256, and acting by weights that are a few steps old.
void OffPolicyDefaults(Experiment* experiment);

// For algorithms that learn from what the newest weights acted: a queue, of which a learner step takes an item of each
// lane, and weights that are published at once.
void OnPolicyDefaults(Experiment* experiment);

// OnPolicyDefaults for algorithms whose network is that of ActorCriticPlan and whose actors wait for each learner step:
// nothing is learned from that older weights acted.
void ActorCriticDefaults(Experiment* experiment);

// For algorithms that learn from unrolls of actors that do not wait: a queue that is short, so that actors who are
// faster than the learner wait for room in it and what they write does not grow old, and batches of a fixed size.
void AsynchronousDefaults(Experiment* experiment);

// The replay section of OnPolicyDefaults: a queue.
ReplayOptions OnPolicyReplay();

}  // namespace waggle
