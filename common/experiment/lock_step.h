#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/experiment/experiment.h"
#include "common/plan/algorithm_plan.h"
#include "common/table_config/table_config.h"

// How many learner steps follow from what has been written, in a run in lock-step (experiment.deterministic). There the
// learner keeps the ratio of samples to inserts, not the table: a whole block has room before it is learned from.

namespace waggle {

// Learner steps that there are for each item, and items before the first step.
struct LearnerQuota {
  double steps_per_item = 0;
  int64_t min_items = 0;

  // Of so many items.
  double Steps(int64_t items) const { return static_cast<double>(items - min_items) * steps_per_item; }
};

// Of an algorithm's only table.
LearnerQuota QuotaInLockStep(const ReplayOptions& replay, const TablePlan& table);

// What is left of a table's limiter.
RateLimiterConfig LimiterInLockStep(const RateLimiterConfig& limiter);

// INVALID_ARGUMENT, behind its key, for an algorithm of several tables, as what is written is counted over all of them,
// and for a queue that could not hold a block of the actor's beside a batch. OK outside of lock-step.
absl::Status CheckLockStep(const Experiment& experiment, const AlgorithmPlan& plan);

}  // namespace waggle
