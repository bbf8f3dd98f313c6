#include "param_server/experiments/later_limits.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/nearest_name.h"
#include "common/base/problems.h"
#include "common/base/status_macros.h"
#include "common/config/scalar_text.h"

namespace waggle {
namespace {

constexpr char kOrigin[] = "the experiment";
constexpr char kNone[] = "null";

// The limits by their keys, as YAML.
std::map<std::string, std::string> LimitsOf(const StopOptions& stop) {
  return {{"stop.target_return", stop.target_return.has_value() ? NumberText(*stop.target_return) : kNone},
          {"stop.max_env_steps", absl::StrCat(stop.max_env_steps)},
          {"stop.max_learner_steps", absl::StrCat(stop.max_learner_steps)},
          {"stop.max_seconds", NumberText(stop.max_seconds)}};
}

absl::Status CheckKeys(const SettingValues& wanted) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : LimitsOf(StopOptions())) {
    keys.push_back(key);
  }
  Problems problems;
  std::set<std::string> seen;
  for (const auto& [key, value] : wanted) {
    problems.AddUnless(std::find(keys.begin(), keys.end(), key) != keys.end(), key, ": is no limit; wanted one of ",
                       absl::StrJoin(keys, ", "), DidYouMean(key, keys));
    problems.AddUnless(seen.insert(key).second, key, ": got ", value, " and another value; wanted one");
  }
  return problems.ToStatus();
}

absl::Status Reached(const std::string& what, const char* key, const std::string& limit) {
  return absl::FailedPreconditionError(absl::StrCat("the run would end at once: it has ", what, ", and stop.", key,
                                                    " is ", limit, "; give a later limit by --",
                                                    absl::StrReplaceAll(key, {{"_", "-"}})));
}

}  // namespace

absl::StatusOr<ChangedSettings> ChangeLimits(const std::string& yaml, const std::string& settings,
                                             const SettingValues& wanted, const AlgorithmDefinitions& algorithms) {
  WAGGLE_RETURN_IF_ERROR(CheckKeys(wanted));
  WAGGLE_ASSIGN_OR_RETURN(SettingValues values, ParseSettings(settings));
  WAGGLE_ASSIGN_OR_RETURN(const Experiment before, ParseStoredExperiment(yaml, kOrigin, values, algorithms));
  if (before.experiment.deterministic) {
    return absl::FailedPreconditionError(
        "experiment.deterministic: got true; wanted false, because a deterministic run follows from its file alone: "
        "submit a file with the later limit");
  }
  std::map<std::string, std::string> set(values.begin(), values.end());
  values.insert(values.end(), wanted.begin(), wanted.end());
  absl::StatusOr<Experiment> after = ParseStoredExperiment(yaml, kOrigin, values, algorithms);
  if (!after.ok()) {
    return WithoutFlags(after.status(), wanted);
  }
  const std::map<std::string, std::string> old = LimitsOf(before.stop);
  const std::map<std::string, std::string> now = LimitsOf(after->stop);
  ChangedSettings changed;
  for (const auto& [key, value] : now) {
    if (value != old.at(key)) {
      set[key] = value;
      changed.changes.push_back({key, old.at(key), value});
    }
  }
  changed.settings = SettingsText(set);
  changed.experiment = *std::move(after);
  return changed;
}

absl::Status CheckGoesOn(const StopOptions& stop, const RunReach& reach) {
  if (stop.target_return.has_value() && reach.confirmed_return.has_value() &&
      *reach.confirmed_return >= *stop.target_return) {
    return Reached(absl::StrCat("a confirmed mean return of ", *reach.confirmed_return), "target_return",
                   NumberText(*stop.target_return));
  }
  if (stop.max_env_steps > 0 && reach.env_steps >= stop.max_env_steps) {
    return Reached(absl::StrCat(reach.env_steps, " environment steps"), "max_env_steps",
                   absl::StrCat(stop.max_env_steps));
  }
  if (stop.max_learner_steps > 0 && reach.learner_steps >= stop.max_learner_steps) {
    return Reached(absl::StrCat(reach.learner_steps, " learner steps"), "max_learner_steps",
                   absl::StrCat(stop.max_learner_steps));
  }
  if (stop.max_seconds > 0 && absl::ToDoubleSeconds(reach.running) >= stop.max_seconds) {
    return Reached(absl::StrCat("gone on for ", absl::ToInt64Seconds(reach.running), " seconds"), "max_seconds",
                   NumberText(stop.max_seconds));
  }
  return absl::OkStatus();
}

}  // namespace waggle
