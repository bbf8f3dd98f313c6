// No test of its own: run_summary_test.cc and tests/cli/status/run_facts_test.cc see it.
#include "common/summary/run_counts.h"

#include <algorithm>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace waggle {
namespace {

using Figures = google::protobuf::Map<std::string, double>;

std::optional<double> Find(const Figures& figures, const std::string& name) {
  const auto it = figures.find(name);
  return it == figures.end() ? std::nullopt : std::optional<double>(it->second);
}

// Gradients are counted as their actors were told: an actor that pushes any counts them from its beginning on.
void AddActor(const v1::WorkerInfo& actor, RunCounts* counts) {
  const std::optional<double> first = Find(actor.gauges(), "first_env_step_unix_seconds");
  if (first.has_value() && *first > 0) {
    counts->first_env_step_unix = std::min(*first, counts->first_env_step_unix.value_or(*first));
  }
  const std::optional<double> pushed = Find(actor.counters(), "gradients_pushed");
  if (!pushed.has_value()) {
    return;
  }
  if (!counts->gradients.has_value()) {
    counts->gradients.emplace();
  }
  GradientFacts& gradients = *counts->gradients;
  gradients.pushed += *pushed;
  gradients.applied += Find(actor.counters(), "gradients_applied").value_or(0);
  for (const auto& [name, count] : actor.counters()) {
    if (absl::string_view reason = name; absl::ConsumePrefix(&reason, "gradients_refused_")) {
      gradients.refused[std::string(reason)] += count;
    }
  }
}

// A learner's counters, its largest lag included, stand when it is gone.
void AddLearner(const v1::WorkerInfo& learner, RunCounts* counts) {
  if (const std::optional<double> lag = Find(learner.gauges(), "policy_lag_max"); lag.has_value()) {
    counts->policy_lag_max = std::max(*lag, counts->policy_lag_max.value_or(*lag));
  }
  counts->policy_lag_sum += Find(learner.counters(), "policy_lag_sum").value_or(0);
  counts->items_learned += Find(learner.counters(), "items_sampled").value_or(0);
  for (size_t bucket = 0; bucket < kLagBuckets; ++bucket) {
    counts->policy_lags[bucket] += Find(learner.counters(), LagBucketCounter(bucket)).value_or(0);
  }
  counts->items_too_old += Find(learner.counters(), "items_too_old").value_or(0);
}

// What only the primary, which is the run's learner, can tell of gradients.
void AddPrimary(const v1::OverviewResponse& overview, GradientFacts* gradients) {
  for (const v1::WorkerInfo& worker : overview.workers()) {
    if (worker.role() == v1::ROLE_LEARNER) {
      gradients->rolled_back += Find(worker.counters(), "gradients_rolled_back").value_or(0);
      gradients->sums_split += Find(worker.counters(), "gradient_sums_split").value_or(0);
    }
  }
  gradients->pushed_per_s = Find(overview.figures(), "actor/gradients_pushed_per_s");
}

}  // namespace

RunCounts CountsOf(const v1::OverviewResponse& overview) {
  RunCounts counts;
  for (const v1::WorkerInfo& worker : overview.workers()) {
    if (worker.role() == v1::ROLE_ACTOR) {
      AddActor(worker, &counts);
    } else if (worker.role() == v1::ROLE_LEARNER) {
      AddLearner(worker, &counts);
    } else if (worker.role() == v1::ROLE_REPLAY_SERVER) {
      counts.items_inserted += Find(worker.counters(), "items_inserted").value_or(0);
      counts.items_sampled += Find(worker.counters(), "items_sampled").value_or(0);
    }
  }
  if (counts.gradients.has_value()) {
    AddPrimary(overview, &*counts.gradients);
  }
  return counts;
}

}  // namespace waggle
