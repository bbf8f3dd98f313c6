#pragma once

#include <string>
#include <vector>

#include "common/config/spec/agent_view.h"
#include "common/config/spec/joint_action.h"
#include "common/rl/kit/algorithm_policy.h"

namespace waggle {

// Lets each agent of an environment act by its own view. By default an agent acts by its network's head "q", which
// gives choices their values, or draws from its head "policy", with the column "log_prob". An agent's columns are
// "AGENT/COLUMN". Algorithms replace the decision.
class AgentsPolicy : public AlgorithmPolicy {
 public:
  // The acting networks are those of AgentGroups, by AgentGroup::NetworkName(network).
  AgentsPolicy(ActingNets nets, const std::string& network, bool share);

  Acted Act(const ActingRows& rows) override;

 protected:
  struct Agent {
    std::string name;
    AgentView view;
    JointAction action;  // The view's.
    NetView net;
  };
  // The agent's decision for rows of its view: values or an action, and columns.
  virtual Acted Decide(const Agent& agent, const ActingRows& rows);

  const std::vector<Agent>& agents() const { return agents_; }
  const ActingNets& nets() const { return nets_; }

 private:
  const ActingNets nets_;
  const JointAction action_;   // All agents'.
  std::vector<Agent> agents_;  // In the order of AgentsOf.
};

}  // namespace waggle
