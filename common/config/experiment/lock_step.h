#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/config/experiment/experiment.h"
#include "common/config/plan/algorithm_plan.h"
#include "common/config/table/table_config.h"

// The number of learner steps that follow from the written items in a run in lock-step (experiment.deterministic).
// There the learner, not the table, keeps the ratio of samples to inserts: a whole block has room before it is learned
// from.

namespace waggle {

// Learner steps for each item, and items before the first step.
struct LearnerQuota {
  double steps_per_item = 0;
  int64_t min_items = 0;

  // The learner steps that this many items allow.
  double Steps(int64_t items) const { return static_cast<double>(items - min_items) * steps_per_item; }
};

// The quota for an algorithm's only table.
LearnerQuota QuotaInLockStep(const ReplayOptions& replay, const TablePlan& table);

// A table's limiter without the ratio.
RateLimiterConfig LimiterInLockStep(const RateLimiterConfig& limiter);

// INVALID_ARGUMENT, behind its key, for an algorithm of several tables, as written items are counted over all of them,
// and for a queue that could not hold an actor's block beside a batch. OK outside of lock-step.
absl::Status CheckLockStep(const Experiment& experiment, const AlgorithmPlan& plan);

}  // namespace waggle
