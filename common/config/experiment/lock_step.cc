#include "common/config/experiment/lock_step.h"

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

// A queue: each item is sampled once.
bool IsQueue(const TableConfig& table) {
  return table.max_times_sampled == 1;
}

}  // namespace

LearnerQuota QuotaInLockStep(const ReplayOptions& replay, const TablePlan& table) {
  const RateLimiterConfig& limiter = replay.table.rate_limiter;
  return {limiter.samples_per_insert / static_cast<double>(table.batch_size),
          IsQueue(table.table) ? 0 : limiter.min_items};
}

RateLimiterConfig LimiterInLockStep(const RateLimiterConfig& limiter) {
  RateLimiterConfig open;
  open.min_items = limiter.min_items;
  return open;
}

absl::Status CheckLockStep(const Experiment& experiment, const AlgorithmPlan& plan) {
  if (!experiment.experiment.deterministic) {
    return absl::OkStatus();
  }
  if (plan.tables.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("experiment.deterministic: algorithm ", experiment.algorithm,
                                                   " learns from ", plan.tables.size(), " tables; wanted one"));
  }
  const TablePlan& table = plan.tables[0];
  // A block has at most one item for each of its rows.
  const int64_t needed = table.batch_size + experiment.actor.lanes * experiment.actor.chunk_rows;
  if (IsQueue(table.table) && table.table.max_items < needed) {
    return absl::InvalidArgumentError(absl::StrCat("replay.max_items: ", table.table.max_items,
                                                   ": in a deterministic run a queue must hold a batch and an actor's "
                                                   "block; wanted at least ",
                                                   needed));
  }
  return absl::OkStatus();
}

}  // namespace waggle
