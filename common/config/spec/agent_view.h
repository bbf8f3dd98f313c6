#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// An environment of several agents as one of them sees it: an environment of one agent, so that what is made for one
// serves each of several.
struct AgentView {
  // The agent's own observations, masks, actions and reward, whose names lack the agent's: "observation" for
  // "agent_0/observation". The observations of others follow, without masks, under their own names; those without
  // an agent have the agent "shared".
  EnvironmentSpec spec;
  std::vector<size_t> leaves;  // The index into the environment's observations of each of the spec's.
};

// The view of an agent of AgentsOf that also sees the observations of `others`; the whole environment for the agent "".
// The environment is valid, here and below.
AgentView ViewOf(const EnvironmentSpec& environment, const std::string& agent,
                 const std::vector<std::string>& others = {});

// The others whose observations an agent's view may have beside its own: the agents after it and then those before it,
// and last all that have no actions, among them "" if some observations have no agent. None for the agent "".
std::vector<std::string> OthersOf(const EnvironmentSpec& environment, const std::string& agent);

// The view of each of these agents, whose leaves correspond: the others of the first are `others`, and those of each
// further one are in the same places among all its others. Further agents have the first one's spaces.
std::vector<AgentView> ViewsOf(const EnvironmentSpec& environment, const std::vector<std::string>& agents,
                               const std::vector<std::string>& others = {});

// "AGENT/NAME", or the name alone for the agent "".
std::string NameOf(const std::string& agent, absl::string_view name);

// Agents that have networks in common.
struct AgentGroup {
  std::vector<std::string> agents;  // At least one; the networks are planned on the first one's view.
  bool is_all = true;               // True if they are all agents of the environment.

  // The name of the group's network: that of an agent alone among others has its name behind it, "actor_agent_0".
  std::string NetworkName(const std::string& network) const;
};

// All agents as one group if they share, otherwise each as a group of its own. INVALID_ARGUMENT, behind its key, if
// they share and their views without others are not equal.
absl::StatusOr<std::vector<AgentGroup>> AgentGroups(const EnvironmentSpec& environment, bool share);

}  // namespace waggle
