#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "common/config/experiment/algorithm_definition.h"
#include "common/config/plan/table_plan.h"
#include "common/rl/kit/returns/n_step_sum.h"

// Priorities of new items by the weights that acted, for a plan whose acting network has a q head, or whose own policy
// writes q_taken and q_max. No tensor library.

namespace waggle {

// The acting network's value of a row's action, and of the best one, in a plan that has StartWith.
inline double TakenValue(const WindowRow& row) {
  return static_cast<double>(row.extras[0]);
}
inline double BestValue(const WindowRow& row) {
  return static_cast<double>(row.extras[1]);
}

// |n-step TD error| of a window of a TransitionTable. `discount` is a step's.
inline InitialPriority TdErrorPriority(double discount) {
  return [discount](const WindowRow* rows, int64_t count) {
    return std::abs(SumSteps(rows, count - 1, discount).With(BestValue(rows[count - 1])) - TakenValue(rows[0]));
  };
}

// Items of the plan's only table start with `priority`, if the replay section picks items by priority. Otherwise actors
// compute none.
inline void StartWith(InitialPriority priority, const PlanContext& context, AlgorithmPlan* plan) {
  if (context.replay.table.UsesPriorities()) {
    plan->private_columns = {"q_taken", "q_max"};
    plan->tables[0].initial_priority = std::move(priority);
  }
}

}  // namespace waggle
