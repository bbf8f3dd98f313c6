#include "common/rl/actor_critic.h"
#include "common/rl/algorithms/a2c/a2c.h"
#include "common/rl/algorithms/implementations.h"

namespace waggle {

AlgorithmImplementation a2c_implementation() {
  return Implement<ActorCritic, A2cOptions>();
}

}  // namespace waggle
