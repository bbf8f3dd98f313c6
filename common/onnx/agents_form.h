#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "common/onnx/policy_graph.h"

namespace waggle {

// The decision of each agent of an environment by its own view, as AgentsPolicy (common/rl/kit/agents) takes it.
// `decide` writes that of one agent, by default that of its network's head "q" or "policy"; its further outputs get the
// agent's name before theirs. INVALID_ARGUMENT if agents that share a network are not equal.
absl::StatusOr<PolicyDecision> DecideByAgents(
    PolicyGraph* policy, const std::string& network, bool share,
    const std::function<PolicyDecision(NetworkGraph* net, NetworkGraph::Output* output)>& decide = {});

}  // namespace waggle
