#include "common/rl/actor_critic.h"
#include "common/rl/algorithms/a3c/a3c.h"
#include "common/rl/algorithms/implementations.h"

namespace waggle {

AlgorithmImplementation a3c_implementation() {
  return Implement<ActorCritic, A3cOptions>();
}

}  // namespace waggle
