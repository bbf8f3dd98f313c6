#include "common/rl/algorithms/offline/definition.h"

#include "common/config/experiment/family_defaults.h"

namespace waggle {

void OfflineDefaults(Experiment* experiment) {
  OffPolicyDefaults(experiment);
  experiment->actor.processes = experiment->actor.least_processes = 0;
}

}  // namespace waggle
