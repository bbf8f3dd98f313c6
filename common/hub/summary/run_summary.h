#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/metrics/lag_buckets.h"
#include "common/hub/summary/gradients_report.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

// One start of a process of the run.
struct ProcessSummary {
  std::string role;
  int64_t index = 0;  // Among those of its role.
  int64_t pid = 0;
  int64_t exit = 0;  // A shell's status.
  double peak_rss_mebibytes = 0;
};

// The contents of summary.json.
struct RunSummary {
  std::string id;  // The experiment's.
  std::string experiment;
  std::string algorithm;
  std::string environment;
  int64_t seed = 0;
  std::string outcome;  // "solved", "limit", "failed", …
  std::string reason;
  // The software's versions and the machine. Those that the summary's writer does not know are empty, and not written.
  std::string waggle_version;
  std::string libtorch_version;
  std::string machine;
  double env_steps = 0;
  double learner_steps = 0;
  double wall_seconds = 0;  // The time of the run: see ExperimentTracker.
  std::optional<double> seconds_to_first_env_step;
  std::optional<v1::Result> result;  // For the weights that are kept as the best.
  // Means over the time of the run.
  double env_steps_per_s = 0;
  double items_inserted_per_s = 0;
  double items_sampled_per_s = 0;
  double learner_steps_per_s = 0;
  double gradients_pushed_per_s = 0;
  // The age of the acting policy, in learner steps, when an item was learned from; over all sampled items.
  std::optional<double> policy_lag_mean;
  std::optional<double> policy_lag_max;
  std::array<double, kLagBuckets> policy_lags = {};  // Items that were learned from, by LagBucket.
  double items_too_old = 0;
  std::optional<GradientFacts> gradients;  // For a run whose actors or learners push them.
  std::vector<ProcessSummary> processes;   // Empty if `waggle run` did not start them.

  nlohmann::ordered_json AsJson() const;
  // The text of the file; invalid UTF-8 is replaced.
  std::string ToJson() const;
};

// Fills in the facts of a run's overview. `started_at`: the start of `waggle run`, or of the experiment in the pool.
void FillFromOverview(const v1::OverviewResponse& overview, absl::Time started_at, RunSummary* summary);

}  // namespace waggle
