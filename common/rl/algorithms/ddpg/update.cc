#include "common/rl/algorithms/deterministic_actor_critic/update.h"

#include "common/rl/algorithms/ddpg/ddpg.h"
#include "common/rl/algorithms/ddpg/policy.h"
#include "common/rl/algorithms/implementations.h"

namespace waggle {

AlgorithmImplementation ddpg_implementation() {
  return ImplementWithPolicy<DeterministicActorCritic, DdpgPolicy, DdpgOptions>();
}

}  // namespace waggle
