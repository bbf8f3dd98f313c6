#include "common/config/spec/environment_spec.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/annotate.h"
#include "common/base/problems.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

// The parts of a checked name, or of an empty one.
LeafName Parts(const std::string& name) {
  return SplitLeafName(name).value_or(LeafName());
}

// Checks that a leaf's root fits the list that it is in.
absl::Status CheckRoot(const ArraySpec& array, const std::vector<std::string>& roots, const char* list) {
  WAGGLE_ASSIGN_OR_RETURN(const LeafName name, SplitLeafName(array.name));
  if (std::find(roots.begin(), roots.end(), name.root) == roots.end()) {
    return absl::InvalidArgumentError(absl::StrCat(array.name, ": has the root ", name.root, " among the ", list,
                                                   "; wanted ", absl::StrJoin(roots, " or ")));
  }
  return absl::OkStatus();
}

absl::Status CheckReward(const ArraySpec& reward) {
  WAGGLE_RETURN_IF_ERROR(reward.Validate());
  WAGGLE_RETURN_IF_ERROR(CheckRoot(reward, {kRewardRoot}, "rewards"));
  if (!Parts(reward.name).path.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(reward.name, ": has a path; wanted one reward an agent, [AGENT/]reward"));
  }
  if (reward.dtype != DType::kFloat32 || reward.shape.size() > 1 || reward.NumElements() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(reward.DebugString(), ": wanted float32, a scalar or a vector of at least one element"));
  }
  return absl::OkStatus();
}

// Checks that names are unique, and that none is a folder of others.
absl::Status CheckNames(const EnvironmentSpec& environment) {
  std::set<std::string> names;
  const auto add = [&names](const std::string& name) {
    return names.insert(name).second
               ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat(name, ": two leaves have this name; wanted one"));
  };
  for (const SpaceLeaf& leaf : environment.observations) {
    WAGGLE_RETURN_IF_ERROR(add(leaf.array.name));
  }
  for (const SpaceLeaf& leaf : environment.actions) {
    WAGGLE_RETURN_IF_ERROR(add(leaf.array.name));
  }
  for (const ArraySpec& reward : environment.rewards) {
    WAGGLE_RETURN_IF_ERROR(add(reward.name));
  }
  for (const std::string& name : names) {
    for (size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
      if (names.count(name.substr(0, slash)) > 0) {
        return absl::InvalidArgumentError(absl::StrCat(name, ": lies below ", name.substr(0, slash),
                                                       ", which is a leaf; wanted leaves beside each other"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckMask(const EnvironmentSpec& environment, const SpaceLeaf& mask) {
  if (mask.kind != SpaceKind::kMultiBinary) {
    return absl::InvalidArgumentError(
        absl::StrCat(mask.DebugString(), ": is a ", Name(mask.kind), " leaf; wanted a multi-binary one for a mask"));
  }
  const SpaceLeaf* const action = FindActionOfMask(environment, mask);
  if (action == nullptr) {
    LeafName wanted = Parts(mask.array.name);
    wanted.root = kActionRoot;
    return absl::InvalidArgumentError(
        absl::StrCat(mask.DebugString(), ": a mask without its action; wanted an action ", wanted.Join()));
  }
  if (action->num_values.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(mask.DebugString(), ": its action ", action->DebugString(),
                                                   " has no choices; wanted a discrete or multi-discrete one"));
  }
  if (mask.array.shape != std::vector<int64_t>{action->TotalChoices()}) {
    return absl::InvalidArgumentError(absl::StrCat(mask.DebugString(), ": wanted bool[", action->TotalChoices(),
                                                   "], one for each choice of ", action->DebugString()));
  }
  return absl::OkStatus();
}

// Checks that exactly the agents with actions have rewards, and that they have observations.
absl::Status CheckAgents(const EnvironmentSpec& environment) {
  std::set<std::string> seeing;
  for (const SpaceLeaf& leaf : environment.observations) {
    if (!IsActionMask(leaf)) {
      seeing.insert(Parts(leaf.array.name).agent);
    }
  }
  std::set<std::string> rewarded;
  for (const ArraySpec& reward : environment.rewards) {
    rewarded.insert(Parts(reward.name).agent);
  }
  for (const std::string& agent : AgentsOf(environment)) {
    if (seeing.count(agent) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("has actions, but no observation ", LeafName{agent, kObservationRoot, ""}.Join()));
    }
    if (rewarded.erase(agent) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("has actions, but no reward ", LeafName{agent, kRewardRoot, ""}.Join()));
    }
  }
  if (!rewarded.empty()) {
    const std::string& agent = *rewarded.begin();
    return absl::InvalidArgumentError(absl::StrCat(LeafName{agent, kRewardRoot, ""}.Join(),
                                                   ": a reward without an action; wanted an action ",
                                                   LeafName{agent, kActionRoot, ""}.Join()));
  }
  return absl::OkStatus();
}

absl::Status CheckLeaves(const EnvironmentSpec& environment) {
  const size_t leaves = environment.observations.size() + environment.actions.size() + environment.rewards.size();
  if (leaves > kMaxColumns) {
    return absl::InvalidArgumentError(absl::StrCat("has ", leaves, " leaves; wanted at most ", kMaxColumns));
  }
  if (environment.observations.empty() || environment.actions.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("has ", environment.observations.size(), " observations and ",
                                                   environment.actions.size(),
                                                   " actions; wanted at least one of each"));
  }
  for (const SpaceLeaf& leaf : environment.observations) {
    WAGGLE_RETURN_IF_ERROR(leaf.Validate());
    WAGGLE_RETURN_IF_ERROR(CheckRoot(leaf.array, {kObservationRoot, kActionMaskRoot}, "observations"));
  }
  for (const SpaceLeaf& leaf : environment.actions) {
    WAGGLE_RETURN_IF_ERROR(leaf.Validate());
    WAGGLE_RETURN_IF_ERROR(CheckRoot(leaf.array, {kActionRoot}, "actions"));
  }
  for (const ArraySpec& reward : environment.rewards) {
    WAGGLE_RETURN_IF_ERROR(CheckReward(reward));
  }
  WAGGLE_RETURN_IF_ERROR(CheckNames(environment));
  for (const SpaceLeaf& leaf : environment.observations) {
    if (IsActionMask(leaf)) {
      WAGGLE_RETURN_IF_ERROR(CheckMask(environment, leaf));
    }
  }
  return CheckAgents(environment);
}

// The leaf of the same agent and path under another root.
const SpaceLeaf* FindBeside(const std::vector<SpaceLeaf>& leaves, const SpaceLeaf& leaf, const char* root) {
  LeafName name = Parts(leaf.array.name);
  name.root = root;
  const std::string wanted = name.Join();
  const auto found =
      std::find_if(leaves.begin(), leaves.end(), [&](const SpaceLeaf& other) { return other.array.name == wanted; });
  return found == leaves.end() ? nullptr : &*found;
}

}  // namespace

absl::Status EnvironmentSpec::Validate() const {
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(name), "environment name"));
  const std::string context = absl::StrCat("environment ", name);
  WAGGLE_RETURN_IF_ERROR(Annotate(CheckLeaves(*this), context));
  if (max_episode_steps < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(context, ": max_episode_steps: ", max_episode_steps, "; wanted 0 (never) or more"));
  }
  return absl::OkStatus();
}

absl::Status CheckSameSpaces(const EnvironmentSpec& got, const EnvironmentSpec& wanted) {
  Problems problems;
  const auto compare = [&problems](const std::vector<SpaceLeaf>& ones, const std::vector<SpaceLeaf>& others,
                                   bool with_bounds) {
    for (size_t i = 0; i < std::max(ones.size(), others.size()); ++i) {
      const std::string one = i < ones.size() ? ones[i].DebugString() : "none";
      const std::string other = i < others.size() ? others[i].DebugString() : "none";
      SpaceLeaf alike = i < ones.size() && i < others.size() ? others[i] : SpaceLeaf();
      if (!with_bounds && i < ones.size()) {
        alike.low = ones[i].low;
        alike.high = ones[i].high;
      }
      problems.AddUnless(i < ones.size() && i < others.size() && ones[i] == alike, "got ", one, "; wanted ", other);
    }
  };
  compare(got.observations, wanted.observations, /*with_bounds=*/false);
  compare(got.actions, wanted.actions, /*with_bounds=*/true);
  problems.AddUnless(got.rewards == wanted.rewards, "got ", waggle::DebugString(got.rewards), "; wanted ",
                     waggle::DebugString(wanted.rewards));
  return problems.ToStatus();
}

std::string EnvironmentSpec::DebugString() const {
  std::vector<std::string> parts;
  for (const SpaceLeaf& leaf : observations) {
    parts.push_back(leaf.DebugString());
  }
  for (const SpaceLeaf& leaf : actions) {
    parts.push_back(leaf.DebugString());
  }
  if (rewards != EnvironmentSpec().rewards) {
    for (const ArraySpec& reward : rewards) {
      parts.push_back(reward.DebugString());
    }
  }
  if (max_episode_steps > 0) {
    parts.push_back(absl::StrCat("at most ", max_episode_steps, " steps an episode"));
  }
  return absl::StrCat(name, " (", absl::StrJoin(parts, ", "), ")");
}

std::vector<std::string> AgentsOf(const EnvironmentSpec& environment) {
  std::vector<std::string> agents;
  for (const SpaceLeaf& leaf : environment.actions) {
    std::string agent = Parts(leaf.array.name).agent;
    if (std::find(agents.begin(), agents.end(), agent) == agents.end()) {
      agents.push_back(std::move(agent));
    }
  }
  return agents;
}

bool IsActionMask(const SpaceLeaf& observation) {
  return Parts(observation.array.name).root == kActionMaskRoot;
}

const SpaceLeaf* FindActionOfMask(const EnvironmentSpec& environment, const SpaceLeaf& mask) {
  return FindBeside(environment.actions, mask, kActionRoot);
}

const SpaceLeaf* FindMaskOfAction(const EnvironmentSpec& environment, const SpaceLeaf& action) {
  return FindBeside(environment.observations, action, kActionMaskRoot);
}

std::vector<ArraySpec> ArraysOf(const std::vector<SpaceLeaf>& leaves) {
  std::vector<ArraySpec> arrays;
  arrays.reserve(leaves.size());
  for (const SpaceLeaf& leaf : leaves) {
    arrays.push_back(leaf.array);
  }
  return arrays;
}

int64_t NumRewards(const std::vector<ArraySpec>& rewards) {
  int64_t sum = 0;
  for (const ArraySpec& reward : rewards) {
    sum += reward.NumElements();
  }
  return sum;
}

}  // namespace waggle
