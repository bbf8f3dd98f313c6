#include "common/hub/summary/run_counts.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace waggle {
namespace {

using Totals = google::protobuf::Map<std::string, double>;

std::optional<double> Find(const Totals& totals, const std::string& name) {
  const auto it = totals.find(name);
  return it == totals.end() ? std::nullopt : std::optional<double>(it->second);
}

// The counts of those that push. The last two are those of the primary, the run's learner.
GradientFacts GradientsOf(const v1::OverviewResponse& overview, bool by_learners) {
  const Totals& totals = overview.totals();
  const std::string role = by_learners ? "learner/" : "actor/";
  GradientFacts gradients;
  gradients.by_learners = by_learners;
  gradients.pushed = Find(totals, role + "gradients_pushed").value_or(0);
  gradients.applied = Find(totals, role + "gradients_applied").value_or(0);
  for (const auto& [name, count] : totals) {
    if (absl::string_view reason = name; absl::ConsumePrefix(&reason, role + "gradients_refused_")) {
      gradients.refused[std::string(reason)] = count;
    }
  }
  gradients.rolled_back = Find(totals, "learner/gradients_rolled_back").value_or(0);
  gradients.sums_split = Find(totals, "learner/gradient_sums_split").value_or(0);
  gradients.pushed_per_s = Find(overview.figures(), role + "gradients_pushed_per_s");
  return gradients;
}

}  // namespace

RunCounts CountsOf(const v1::OverviewResponse& overview) {
  const Totals& totals = overview.totals();
  RunCounts counts;
  counts.first_env_step_unix = Find(totals, "actor/first_env_step_unix_seconds");
  counts.items_inserted = Find(totals, "replay/items_inserted").value_or(0);
  counts.items_sampled = Find(totals, "replay/items_sampled").value_or(0);
  counts.items_learned = Find(totals, "learner/items_sampled").value_or(0);
  counts.policy_lag_sum = Find(totals, "learner/policy_lag_sum").value_or(0);
  counts.policy_lag_max = Find(totals, "learner/policy_lag_max");
  for (size_t bucket = 0; bucket < kLagBuckets; ++bucket) {
    counts.policy_lags[bucket] = Find(totals, absl::StrCat("learner/", LagBucketCounter(bucket))).value_or(0);
  }
  counts.items_too_old = Find(totals, "learner/items_too_old").value_or(0);
  // Actors and learners that push gradients count them from their start. So does the primary, if actors push.
  const bool by_learners = !totals.contains("actor/gradients_pushed");
  if (!by_learners || totals.contains("learner/gradients_pushed")) {
    counts.gradients = GradientsOf(overview, by_learners);
  }
  return counts;
}

}  // namespace waggle
