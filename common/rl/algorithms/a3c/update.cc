#include "common/rl/algorithms/actor_critic/update.h"

#include "common/rl/algorithms/a3c/a3c.h"
#include "common/rl/algorithms/implementations.h"

namespace waggle {

AlgorithmImplementation a3c_implementation() {
  return Implement<AdvantageActorCritic, A3cOptions>();
}

}  // namespace waggle
