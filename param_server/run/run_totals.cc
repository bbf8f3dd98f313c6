#include "param_server/run/run_totals.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/metrics/lag_buckets.h"
#include "common/hub/ports/gradients.h"
#include "param_server/run/worker_table.h"

namespace waggle {
namespace {

struct Counted {
  std::string role;
  std::vector<std::string> counters;
};

// The list of counters bounds the memory for a worker.
std::map<Role, Counted> ListCounted() {
  std::map<Role, Counted> counted;
  std::vector<std::string> gradients = {"gradients_pushed", "gradients_applied"};
  for (int verdict = static_cast<int>(GradientVerdict::kStale);
       verdict <= static_cast<int>(GradientVerdict::kTrainingOver); ++verdict) {
    gradients.push_back(absl::StrCat("gradients_refused_", GradientVerdictName(static_cast<GradientVerdict>(verdict))));
  }
  counted[Role::kActor] = {"actor/", gradients};
  counted[Role::kLearner] = {
      "learner/", {"items_sampled", "items_too_old", "policy_lag_sum", "gradients_rolled_back", "gradient_sums_split"}};
  // Learners that push, or the primary.
  counted[Role::kLearner].counters.insert(counted[Role::kLearner].counters.end(), gradients.begin(), gradients.end());
  for (size_t bucket = 0; bucket < kLagBuckets; ++bucket) {
    counted[Role::kLearner].counters.push_back(LagBucketCounter(bucket));
  }
  counted[Role::kReplayServer] = {"replay/", {"items_inserted", "items_sampled"}};
  return counted;
}

// Sets the value in `all` to the smaller (`largest`: the larger) of it and the gauge. Returns true if that changes it.
bool TakeGauge(const WorkerFigures& figures, const std::string& role, const char* name, bool largest,
               std::map<std::string, double>* all) {
  const auto gauge = figures.gauges.find(name);
  // A time of 0 means that there is no time yet. NaN is left out too.
  if (gauge == figures.gauges.end() || !(largest ? gauge->second >= 0 : gauge->second > 0)) {
    return false;
  }
  const auto [known, is_first] = all->emplace(role + name, gauge->second);
  const double before = known->second;
  known->second = largest ? std::max(before, gauge->second) : std::min(before, gauge->second);
  return is_first || known->second != before;
}

}  // namespace

bool RunTotals::Report(const std::string& worker_id, Role role, const WorkerFigures& figures, bool after_restart) {
  static const auto* const all_counted = new std::map<Role, Counted>(ListCounted());
  const auto counted = all_counted->find(role);
  if (counted == all_counted->end()) {
    return false;
  }
  bool changed = false;
  for (const std::string& name : counted->second.counters) {
    const auto counter = figures.counters.find(name);
    if (counter == figures.counters.end()) {
      continue;
    }
    double& before = of[worker_id][name];
    // Reports may overtake each other: a smaller figure is older.
    const double added = std::max(0.0, counter->second - before);
    before += added;
    const std::string key = counted->second.role + name;
    const auto [sum, is_first] = all.emplace(key, 0);  // A counter of 0 is shown too.
    sum->second += added;
    if (after_restart && added > 0) {
      unseen[key] += added;
    }
    changed = changed || is_first || added > 0;
  }
  const std::string& group = counted->second.role;
  changed = TakeGauge(figures, group, "first_env_step_unix_seconds", /*largest=*/false, &all) || changed;
  return TakeGauge(figures, group, "policy_lag_max", /*largest=*/true, &all) || changed;
}

void RunTotals::KeepOnly(const std::function<bool(const std::string& worker_id)>& may_report) {
  for (auto one = of.begin(); one != of.end();) {
    one = may_report(one->first) ? std::next(one) : of.erase(one);
  }
}

}  // namespace waggle
