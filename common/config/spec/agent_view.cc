#include "common/config/spec/agent_view.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

// The agent, in views, of observations without one.
constexpr char kShared[] = "shared";

// The parts of a checked name.
LeafName NameParts(const std::string& name) {
  return SplitLeafName(name).value_or(LeafName());
}

std::string Renamed(const std::string& name, const std::string& agent) {
  LeafName parts = NameParts(name);
  parts.agent = agent;
  return parts.Join();
}

}  // namespace

AgentView ViewOf(const EnvironmentSpec& environment, const std::string& agent, const std::vector<std::string>& others) {
  AgentView view{environment, {}};
  if (agent.empty()) {
    for (size_t i = 0; i < environment.observations.size(); ++i) {
      view.leaves.push_back(i);
    }
    return view;
  }
  view.spec.observations.clear();
  const auto add = [&](const std::string& owner, const std::string& shown_as) {
    for (size_t i = 0; i < environment.observations.size(); ++i) {
      SpaceLeaf leaf = environment.observations[i];
      if (NameParts(leaf.array.name).agent == owner && (owner == agent || !IsActionMask(leaf))) {
        leaf.array.name = Renamed(leaf.array.name, shown_as);
        view.spec.observations.push_back(std::move(leaf));
        view.leaves.push_back(i);
      }
    }
  };
  add(agent, "");
  for (const std::string& other : others) {
    add(other, other.empty() ? kShared : other);
  }
  const auto is_others = [&agent](const std::string& name) { return NameParts(name).agent != agent; };
  std::vector<SpaceLeaf>& actions = view.spec.actions;
  actions.erase(std::remove_if(actions.begin(), actions.end(),
                               [&](const SpaceLeaf& action) { return is_others(action.array.name); }),
                actions.end());
  std::vector<ArraySpec>& rewards = view.spec.rewards;
  rewards.erase(
      std::remove_if(rewards.begin(), rewards.end(), [&](const ArraySpec& reward) { return is_others(reward.name); }),
      rewards.end());
  for (SpaceLeaf& action : actions) {
    action.array.name = Renamed(action.array.name, "");
  }
  for (ArraySpec& reward : rewards) {
    reward.name = Renamed(reward.name, "");
  }
  return view;
}

std::vector<std::string> OthersOf(const EnvironmentSpec& environment, const std::string& agent) {
  std::vector<std::string> others = AgentsOf(environment);
  if (agent.empty()) {
    return {};
  }
  std::rotate(others.begin(), std::find(others.begin(), others.end(), agent), others.end());
  for (const SpaceLeaf& leaf : environment.observations) {
    const std::string owner = NameParts(leaf.array.name).agent;
    if (std::find(others.begin(), others.end(), owner) == others.end()) {
      others.push_back(owner);
    }
  }
  others.erase(others.begin());
  return others;
}

std::vector<AgentView> ViewsOf(const EnvironmentSpec& environment, const std::vector<std::string>& agents,
                               const std::vector<std::string>& others) {
  const std::vector<std::string> all = OthersOf(environment, agents[0]);
  std::vector<AgentView> views;
  for (const std::string& agent : agents) {
    const std::vector<std::string> own = OthersOf(environment, agent);
    std::vector<std::string> seen;
    for (const std::string& other : others) {
      seen.push_back(own[static_cast<size_t>(std::find(all.begin(), all.end(), other) - all.begin())]);
    }
    views.push_back(ViewOf(environment, agent, seen));
  }
  return views;
}

std::string NameOf(const std::string& agent, absl::string_view name) {
  return agent.empty() ? std::string(name) : absl::StrCat(agent, "/", name);
}

std::string AgentGroup::NetworkName(const std::string& network) const {
  return is_all ? network : absl::StrCat(network, "_", agents[0]);
}

absl::StatusOr<std::vector<AgentGroup>> AgentGroups(const EnvironmentSpec& environment, bool share) {
  const std::vector<std::string> agents = AgentsOf(environment);
  if (agents.size() == 1) {
    return std::vector<AgentGroup>{{agents}};
  }
  if (!share) {
    std::vector<AgentGroup> groups;
    for (const std::string& agent : agents) {
      groups.push_back({{agent}, /*is_all=*/false});
    }
    return groups;
  }
  const EnvironmentSpec first = ViewOf(environment, agents[0]).spec;
  for (const std::string& agent : agents) {
    if (const EnvironmentSpec other = ViewOf(environment, agent).spec; !(other == first)) {
      return absl::InvalidArgumentError(absl::StrCat("algorithm.share: got true, and the spaces of ", agents[0],
                                                     " and ", agent, " differ: ", first.DebugString(), ", ",
                                                     other.DebugString(), "; wanted false, or agents of equal spaces"));
    }
  }
  return std::vector<AgentGroup>{{agents}};
}

}  // namespace waggle
