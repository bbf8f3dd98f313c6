#include "common/rl/algorithms/multi_agent_ppo/update.h"

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/ippo/ippo.h"

namespace waggle {
namespace {

class Ippo : public MultiAgentPpo {
 public:
  Ippo(const IppoOptions& options, Model* model) : MultiAgentPpo(options, /*central=*/false, model) {}
};

class IppoPolicy : public AgentsPolicy {
 public:
  IppoPolicy(const IppoOptions& options, ActingNets nets)
      : AgentsPolicy(std::move(nets), "actor_critic", options.share) {}
};

}  // namespace

AlgorithmImplementation ippo_implementation() {
  return ImplementWithPolicy<Ippo, IppoPolicy, IppoOptions>();
}

}  // namespace waggle
