#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/config/experiment/module_definition.h"

namespace waggle {

// Hindsight experience replay (Andrychowicz et al. 2017, arXiv 1707.01495): learns from a share of the transitions as
// if their goal had been one that the same episode achieved.
struct HerOptions : public ModuleOptions {
  double share = 0.8;  // The share of a batch's rows that get another goal.
  // The rows that give these goals (section 4.5): future, those behind the transition's first, each as likely; final,
  // the last of them; episode, all of the episode.
  std::string strategy = "future";
  // The leaves of the observation that show the goal, and what has been achieved so far. Both have one element type and
  // shape.
  std::string goal = "observation/desired_goal";
  std::string achieved = "observation/achieved_goal";
  // The goal is reached if the Euclidean distance of what a step has achieved is at most this. The reward of the step
  // is then success_reward, else failure_reward, which must be the environment's own rule.
  double tolerance = 0.05;
  double success_reward = 0;
  double failure_reward = -1;
  bool terminates = false;  // A step that reaches the goal ends the episode.
  // The most steps to such a goal; absent: the environment's limit of an episode.
  std::optional<int64_t> horizon;

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override;
};

// The field with the goal that the item's future row has achieved.
inline constexpr char kOtherGoal[] = "her/other_goal";

}  // namespace waggle
