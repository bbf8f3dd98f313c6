#include "common/rl/algorithms/actor_critic/update.h"

#include "common/rl/algorithms/a2c/a2c.h"
#include "common/rl/algorithms/implementations.h"

namespace waggle {

AlgorithmImplementation a2c_implementation() {
  return Implement<AdvantageActorCritic, A2cOptions>();
}

}  // namespace waggle
