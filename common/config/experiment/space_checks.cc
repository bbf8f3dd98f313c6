#include "common/config/experiment/space_checks.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/problems.h"
#include "common/config/spec/leaf_name.h"

namespace waggle {
namespace {

std::string NamesOf(const std::vector<SpaceLeaf>& leaves) {
  return absl::StrJoin(leaves, ", ", [](std::string* text, const SpaceLeaf& leaf) { *text += leaf.array.name; });
}

std::string NamesOf(const std::vector<SpaceKind>& kinds) {
  return absl::StrJoin(kinds, " or ", [](std::string* text, SpaceKind kind) { *text += Name(kind); });
}

std::vector<SpaceLeaf> ActionsOf(const EnvironmentSpec& environment, const std::string& agent) {
  std::vector<SpaceLeaf> actions;
  for (const SpaceLeaf& action : environment.actions) {
    if (SplitLeafName(action.array.name)->agent == agent) {
      actions.push_back(action);
    }
  }
  return actions;
}

// Calls need(fits, has, wanted) for each fact about an agent's actions.
template <class Need>
void CheckActions(const AlgorithmDefinition& definition, const std::vector<SpaceLeaf>& actions, const Need& need) {
  const std::vector<SpaceKind>& kinds = definition.action_kinds;
  const auto takes = [&kinds](SpaceKind kind) { return std::find(kinds.begin(), kinds.end(), kind) != kinds.end(); };
  const bool are_real = std::all_of(actions.begin(), actions.end(),
                                    [](const SpaceLeaf& action) { return action.kind == SpaceKind::kBox; });
  const auto count = [&actions](SpaceKind kind) {
    return std::count_if(actions.begin(), actions.end(),
                         [kind](const SpaceLeaf& action) { return action.kind == kind; });
  };
  const bool is_choice_beside_reals =
      count(SpaceKind::kDiscrete) == 1 && count(SpaceKind::kBox) + 1 == static_cast<int64_t>(actions.size());
  need(actions.size() == 1 || takes(SpaceKind::kMultiDiscrete) || (are_real && takes(SpaceKind::kBox)) ||
           (is_choice_beside_reals && definition.takes_choice_beside_reals),
       absl::StrCat("has ", actions.size(), " actions (", NamesOf(actions), ")"),
       definition.takes_choice_beside_reals ? "one, or box ones and at most one discrete one"
       : takes(SpaceKind::kBox)             ? "one, or box ones alone"
                                            : "one");
  for (const SpaceLeaf& action : actions) {
    const bool is_taken =
        takes(action.kind) || (action.kind == SpaceKind::kMultiBinary && takes(SpaceKind::kMultiDiscrete));
    need(is_taken, absl::StrCat("takes ", Name(action.kind), " actions (", action.DebugString(), ")"),
         absl::StrCat(NamesOf(kinds), " ones"));
    need(action.kind != SpaceKind::kBox || action.array.dtype == DType::kFloat32,
         absl::StrCat("takes ", action.array.DebugString()), "float32 where actions are real");
  }
}

}  // namespace

absl::Status CheckSpaces(const std::string& algorithm, const AlgorithmDefinition& definition,
                         const EnvironmentSpec& environment) {
  Problems problems;
  const auto need = [&](bool fits, const std::string& has, const std::string& wanted) {
    problems.AddUnless(fits, "environment.name: ", environment.name, " ", has, "; algorithm ", algorithm, " wants ",
                       wanted);
  };
  const std::vector<std::string> agents = AgentsOf(environment);
  need(agents.size() == 1 || definition.takes_agents,
       absl::StrCat("has ", agents.size(), " agents (", absl::StrJoin(agents, ", "), ")"), "one");
  if (definition.takes_agents) {
    for (const std::string& agent : agents) {
      CheckActions(definition, ActionsOf(environment, agent), need);
    }
  } else {
    CheckActions(definition, environment.actions, need);
  }
  for (const ArraySpec& reward : environment.rewards) {
    need(reward.shape.empty() || environment.rewards.size() == 1,
         absl::StrCat("gives a reward of several dimensions (", reward.DebugString(), ") to one of several agents"),
         "a scalar");
  }
  return problems.ToStatus();
}

}  // namespace waggle
