#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/spec/leaf_name.h"
#include "common/spec/space_leaf.h"
#include "common/tensor/array_spec.h"

namespace waggle {

// How an episode's steps are marked: row t of a stream has the step type of observation t.
enum class StepType : int32_t {
  kFirst = 0,
  kMid = 1,
  // The final observation of an episode. Its action, reward and discount mean nothing.
  kLast = 2,
};

// What has to be known about an environment to build networks and tables for it: its arrays, one a leaf of its spaces.
// A dict of spaces is several leaves ("observation/camera", "observation/speed"), a tuple too ("observation/0", …), and
// so are several agents ("agent_0/observation", …).
struct EnvironmentSpec {
  std::string name;
  // What a step shows, and which actions are legal: "action_mask" is a kMultiBinary leaf for the action "action",
  // "action_mask/move" for "action/move"; bool [TotalChoices() of the action], true where a choice is legal.
  std::vector<SpaceLeaf> observations;
  std::vector<SpaceLeaf> actions;
  // One for each agent, named [AGENT/]reward: float32, a scalar, or a vector for rewards of several dimensions.
  std::vector<ArraySpec> rewards = {ArraySpec{kRewardRoot, DType::kFloat32, {}}};
  int64_t max_episode_steps = 0;  // After which an episode is truncated; 0: never.

  // INVALID_ARGUMENT, naming the leaf, unless names are unique and well formed, no leaf lies below another, each leaf
  // is as its kind has it, a mask has its action and that one's size, every agent that acts has observations and a
  // reward, and somebody acts.
  absl::Status Validate() const;
  // One line, for messages; a single scalar reward is left out.
  std::string DebugString() const;

  friend bool operator==(const EnvironmentSpec& a, const EnvironmentSpec& b) {
    return a.name == b.name && a.observations == b.observations && a.actions == b.actions && a.rewards == b.rewards &&
           a.max_episode_steps == b.max_episode_steps;
  }
};

// The agents that act, in the order of their first actions; {""} where agents are not told apart. The environment is
// valid, here and below.
std::vector<std::string> AgentsOf(const EnvironmentSpec& environment);

// Whether an observation leaf is a mask of legal actions.
bool IsActionMask(const SpaceLeaf& observation);

// The action that a mask is for, and the mask of an action. Null where there is none. They point into the environment.
const SpaceLeaf* FindActionOfMask(const EnvironmentSpec& environment, const SpaceLeaf& mask);
const SpaceLeaf* FindMaskOfAction(const EnvironmentSpec& environment, const SpaceLeaf& action);

// The arrays of leaves, without what they hold.
std::vector<ArraySpec> ArraysOf(const std::vector<SpaceLeaf>& leaves);

// Of all these rewards, back to back: how many numbers there are.
int64_t NumRewards(const std::vector<ArraySpec>& rewards);

}  // namespace waggle
