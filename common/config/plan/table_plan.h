#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/tensor/array_spec.h"
#include "common/config/table/table_config.h"

namespace waggle {

// The columns that every stream has beside a policy's. Each leaf of the environment is a column of its own name; the
// first three are those of an environment with one observation, one action and one reward.
inline constexpr char kObservation[] = "observation";
inline constexpr char kAction[] = "action";
inline constexpr char kReward[] = "reward";       // float32: the reward for the row's action.
inline constexpr char kDiscount[] = "discount";   // float32: 0 if the row's action led to a true end, otherwise 1.
inline constexpr char kStepType[] = "step_type";  // int32, a StepType.
// float32 [state_size], for a policy whose network has a core: its state before the row.
inline constexpr char kCoreState[] = "core_state";

// One row's facts for a window's initial priority.
struct WindowRow {
  // For several dimensions or agents, their ScalarReward (actor/writing/scalar_reward.h).
  float reward = 0;
  float discount = 0;
  // The policy's private columns (float32 scalars), in the order of Policy::private_columns().
  const float* extras = nullptr;
  bool first = false;  // An episode begins with the row.
};

// Cuts windows from a stream to become items.
//
// Burn-in concerns processes that learn from a sequence: its first `burn_in` rows only warm up a recurrent state, and
// nothing is learned from them. A window of `length` rows has length - 1 steps, as its last row is the result of the
// last step. With `period` = length - 1 - burn_in each step of an episode is learned from in just one window, except
// the first burn_in of the episode. Those are in the window that begins with it (its first step_type is kFirst) and
// needs no burn-in, as no row comes before it.
struct WindowPlan {
  enum class Kind {
    // For every step t of an episode the rows [t, t + length - 1], cut off at the episode's last row.
    kNStep,
    // Rows [k * period, k * period + length - 1]; an episode's last window is cut off.
    kSequence,
    // The whole episode.
    kEpisode,
    // Rows [k * period, k * period + length - 1] of the lane's stream, always `length` of them, across the ends of
    // episodes.
    kUnroll,
  };
  Kind kind = Kind::kNStep;
  int64_t length = 2;  // Rows; for kEpisode the most of an episode.
  int64_t period = 1;  // kSequence, kUnroll: rows from one window's start to the next one's.
};

// Computes a window's first priority from its rows (at least two; the last one has the final observation, and of its
// facts only the extras count).
using InitialPriority = std::function<double(const WindowRow* rows, int64_t count)>;

// An algorithm's table, and how a writer fills it. The writer carries the plan out and knows no algorithm.
struct TablePlan {
  // Its signature has the columns that the algorithm needs of it. PlanExperiment gives all tables the columns of all,
  // as they share the rows of one stream.
  TableConfig table;
  std::string name = {};   // The algorithm's name for it: table.name before the run's is put before it.
  int64_t batch_size = 1;  // Items of it in a learner step.
  // Present in a table that holds imported episodes alone, beside the actors' own: the algorithm's name for the actors'
  // table, of the same form. An update sees the rows of both as one batch.
  std::string adds_to = {};
  // It is drawn in the first update and in each further one whose number is a multiple of this. Other updates have no
  // batch of it (Batches::Has).
  int64_t every = 1;
  // A batch is this many requests of batch_size / parts items each. Above 1, further requests replace
  // the items that are left out of a batch because they are too old.
  int64_t parts = 1;
  bool is_modules = false;  // A module's: the algorithm does not see its batches.
  WindowPlan window;
  // Absent: every window starts with the highest priority among the table's items, as in Schaul et al. 2015 (arXiv
  // 1511.05952). The tables of an algorithm that pick by priorities all have one, or none of them has.
  InitialPriority initial_priority;
};

}  // namespace waggle
