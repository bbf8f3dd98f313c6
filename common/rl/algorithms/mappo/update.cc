#include "common/rl/algorithms/multi_agent_ppo/update.h"

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/mappo/mappo.h"

namespace waggle {
namespace {

class Mappo : public MultiAgentPpo {
 public:
  Mappo(const MappoOptions& options, Model* model) : MultiAgentPpo(options, /*central=*/true, model) {}
};

class MappoPolicy : public AgentsPolicy {
 public:
  MappoPolicy(const MappoOptions& options, ActingNets nets) : AgentsPolicy(std::move(nets), "actor", options.share) {}
};

}  // namespace

AlgorithmImplementation mappo_implementation() {
  return ImplementWithPolicy<Mappo, MappoPolicy, MappoOptions>();
}

}  // namespace waggle
