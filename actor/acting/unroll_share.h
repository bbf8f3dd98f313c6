#pragma once

#include <cstdint>
#include <functional>

#include "common/config/experiment/experiment.h"

namespace waggle {

// The unrolls of each of its lanes that an actor acts by one version of the weights, if a learner step takes `unrolls`
// of them from `actors` living actors: at least 1. Over actors with the indices 0 to actors - 1 they add up to
// `unrolls`. Among actors with holes in their indices they may add up to more, never to less.
int64_t UnrollShare(int64_t unrolls, int64_t index, int64_t actors);

// RolloutLoop::Parts::unrolls_per_version for an experiment whose actors wait for each learner step. `living_actors`
// gives the run's present number of actors, at least 1.
std::function<int64_t()> UnrollsPerVersion(const Experiment& experiment, int64_t index,
                                           std::function<int64_t()> living_actors);

}  // namespace waggle
