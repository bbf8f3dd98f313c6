#pragma once

#include <array>
#include <optional>

#include "common/base/metrics/lag_buckets.h"
#include "common/hub/summary/gradients_report.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// Counts over all processes that ever worked for a run.
struct RunCounts {
  std::optional<double> first_env_step_unix;  // Seconds.
  double items_inserted = 0;
  double items_sampled = 0;
  double items_learned = 0;  // Sampled items that the learner has used.
  // Learner steps between the policy that acted and the step that learns from it.
  double policy_lag_sum = 0;                         // Over all of items_learned.
  std::optional<double> policy_lag_max;              // Over the run.
  std::array<double, kLagBuckets> policy_lags = {};  // Counts of items_learned, by LagBucket.
  double items_too_old = 0;                          // Left out by the learner (learner.max_policy_lag).
  // If actors or learners push them. A run whose actors push has no tables and no policy lags.
  std::optional<GradientFacts> gradients;
};

RunCounts CountsOf(const v1::OverviewResponse& overview);

}  // namespace waggle
