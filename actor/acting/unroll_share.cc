#include "actor/acting/unroll_share.h"

#include <algorithm>
#include <utility>

namespace waggle {

int64_t UnrollShare(int64_t unrolls, int64_t index, int64_t actors) {
  const int64_t rank = index < actors ? index : 0;
  return std::max<int64_t>(1, unrolls / actors + (rank < unrolls % actors ? 1 : 0));
}

std::function<int64_t()> UnrollsPerVersion(const Experiment& experiment, int64_t index,
                                           std::function<int64_t()> living_actors) {
  const ActorOptions& actor = experiment.actor;
  const int64_t unrolls = experiment.learner.batch_size * experiment.learner.processes / actor.lanes;
  if (actor.least_processes < actor.processes) {
    return [unrolls, index, living_actors = std::move(living_actors)] {
      return UnrollShare(unrolls, index, living_actors());
    };
  }
  // A lost actor is replaced. Until then the others wait: unrolls in its place would soon be too old.
  return [share = UnrollShare(unrolls, index, actor.processes)] { return share; };
}

}  // namespace waggle
