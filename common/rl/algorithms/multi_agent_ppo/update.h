#pragma once

#include <memory>
#include <vector>

#include "common/rl/algorithms/multi_agent_ppo/definition.h"
#include "common/rl/algorithms/ppo/policy_phase.h"
#include "common/rl/kit/agents/agent_batches.h"
#include "common/rl/kit/agents/agents_policy.h"
#include "common/rl/kit/algorithm.h"

namespace waggle {

// PPO's update for each agent from its own view, or once for all agents that share, from the steps of all.
class MultiAgentPpo : public Algorithm {
 public:
  // The model must be of a MultiAgentPpoPlan of these options, and outlive it.
  MultiAgentPpo(const MultiAgentPpoOptions& options, bool central, Model* model);

  void Update(const Batches& batches, UpdateContext* context) override;
  void VisitState(StateVisitor* visitor) override;

 private:
  struct Learner {
    AgentBatches batches;
    std::unique_ptr<PolicyPhase> phase;
  };

  const MultiAgentPpoOptions options_;
  std::vector<Learner> learners_;
};

}  // namespace waggle
