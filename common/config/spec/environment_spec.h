#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/tensor/array_spec.h"
#include "common/config/spec/leaf_name.h"
#include "common/config/spec/space_leaf.h"

namespace waggle {

// The marks of an episode's steps: row t of a stream has the step type of observation t.
enum class StepType : int32_t {
  kFirst = 0,
  kMid = 1,
  // The final observation of an episode. Its action, reward and discount mean nothing.
  kLast = 2,
};

// The facts about an environment that networks and tables are built from: its arrays, one a leaf of its spaces. A dict
// of spaces is several leaves ("observation/camera", "observation/speed"), a tuple too ("observation/0", …), and so are
// several agents ("agent_0/observation", …).
struct EnvironmentSpec {
  std::string name;
  // A step's observations, and masks of legal actions: "action_mask" is a kMultiBinary leaf for the action "action",
  // "action_mask/move" for "action/move"; bool [TotalChoices() of the action], true if a choice is legal.
  std::vector<SpaceLeaf> observations;
  std::vector<SpaceLeaf> actions;
  // One for each agent, named [AGENT/]reward: float32, a scalar, or a vector for rewards of several dimensions.
  std::vector<ArraySpec> rewards = {ArraySpec{kRewardRoot, DType::kFloat32, {}}};
  int64_t max_episode_steps = 0;  // An episode is truncated after this many; 0: never.

  // INVALID_ARGUMENT, naming the leaf, unless names are unique and well formed, no leaf lies below another, each leaf
  // fits its kind, each mask has its action and that one's size, every agent with actions has observations and a
  // reward, and there is an action.
  absl::Status Validate() const;
  // One line, for messages; a single scalar reward is left out.
  std::string DebugString() const;

  friend bool operator==(const EnvironmentSpec& a, const EnvironmentSpec& b) {
    return a.name == b.name && a.observations == b.observations && a.actions == b.actions && a.rewards == b.rewards &&
           a.max_episode_steps == b.max_episode_steps;
  }
};

// INVALID_ARGUMENT, with each leaf that differs, unless both have equal observations, actions and rewards. Bounds of
// observations may differ: nothing depends on them.
absl::Status CheckSameSpaces(const EnvironmentSpec& got, const EnvironmentSpec& wanted);

// The agents with actions, in the order of their first actions; {""} if agents are not told apart. The environment is
// valid, here and below.
std::vector<std::string> AgentsOf(const EnvironmentSpec& environment);

// True if an observation leaf is a mask of legal actions.
bool IsActionMask(const SpaceLeaf& observation);

// A mask's action, and an action's mask. Null if there is none. They point into the environment.
const SpaceLeaf* FindActionOfMask(const EnvironmentSpec& environment, const SpaceLeaf& mask);
const SpaceLeaf* FindMaskOfAction(const EnvironmentSpec& environment, const SpaceLeaf& action);

// The leaves' arrays, without kinds and bounds.
std::vector<ArraySpec> ArraysOf(const std::vector<SpaceLeaf>& leaves);

// The count of numbers in all these rewards.
int64_t NumRewards(const std::vector<ArraySpec>& rewards);

}  // namespace waggle
