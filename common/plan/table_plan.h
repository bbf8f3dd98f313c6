#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/table_config/table_config.h"
#include "common/tensor/array_spec.h"

namespace waggle {

// The columns that every stream has beside what a policy adds. Each leaf of the environment is a column of its own
// name; the first three are those of an environment with one observation, one action and one reward.
inline constexpr char kObservation[] = "observation";
inline constexpr char kAction[] = "action";
inline constexpr char kReward[] = "reward";       // float32: what the row's action led to.
inline constexpr char kDiscount[] = "discount";   // float32: 0 where the row's action led to a true end, else 1.
inline constexpr char kStepType[] = "step_type";  // int32, a StepType.
// float32 [state_size], of a policy whose network has a core: its state before the row.
inline constexpr char kCoreState[] = "core_state";

// One row's per-row facts as a window's initial priority sees them.
struct WindowRow {
  // Of rewards of several dimensions or agents, what ScalarReward (actor/scalar_reward.h) makes of them.
  float reward = 0;
  float discount = 0;
  // The policy's private columns (float32 scalars), in the order of Policy::private_columns().
  const float* extras = nullptr;
  bool first = false;  // An episode begins with the row.
};

// How windows are cut from a stream to become items.
//
// Burn-in is a matter of whoever learns from a sequence: its first `burn_in` rows only warm a recurrent state up, and
// nothing is learned from them. A window of `length` rows has length - 1 steps, for its last row is what the last step
// led to; with `period` = length - 1 - burn_in each step of an episode is learned from in just one window, but for the
// first burn_in of the episode. Those are in the window that begins with it (its first step_type is kFirst), which
// needs no burn-in: before it there is nothing to remember.
struct WindowPlan {
  enum class Kind {
    // For every step t of an episode the rows [t, t + length - 1], cut short at the episode's last row.
    kNStep,
    // Rows [k * period, k * period + length - 1]; the last one of an episode is cut short.
    kSequence,
    // The whole episode.
    kEpisode,
    // Rows [k * period, k * period + length - 1] of the lane's stream, always `length` of them, whatever episodes end
    // and begin in between.
    kUnroll,
  };
  Kind kind = Kind::kNStep;
  int64_t length = 2;  // Rows; for kEpisode the most that an episode may have.
  int64_t period = 1;  // kSequence, kUnroll: rows from one window's start to the next one's.
};

// Computes the priority that a window starts with from its rows (at least two; the last one carries the final
// observation, and of its facts only the extras count).
using InitialPriority = std::function<double(const WindowRow* rows, int64_t count)>;

// A table that an algorithm wants, and how a writer fills it. The writer carries the plan out and knows no algorithm.
struct TablePlan {
  TableConfig table;
  std::string name = {};   // As the algorithm calls it: what table.name is before it is made the run's own.
  int64_t batch_size = 1;  // Items of it that a learner step takes.
  WindowPlan window;
  // Absent: every window starts with the highest priority of the items that are in the table, as in Schaul et al. 2015
  // (arXiv 1511.05952). The tables of an algorithm that pick by priorities all have one, or none of them has.
  InitialPriority initial_priority;
};

}  // namespace waggle
