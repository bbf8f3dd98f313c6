#include "common/config/experiment/live_settings.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/nearest_name.h"
#include "common/base/problems.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/settings_text.h"
#include "common/config/live_fields.h"

namespace waggle {
namespace {

constexpr char kOrigin[] = "the experiment";

using Values = std::vector<std::pair<std::string, std::string>>;

std::map<std::string, std::string> LiveValues(const Experiment& experiment) {
  LiveFields fields;
  VisitExperiment(experiment, fields);
  return fields.values();
}

absl::Status CheckKeys(const Values& wanted, const std::map<std::string, std::string>& live) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : live) {
    keys.push_back(key);
  }
  Problems problems;
  std::set<std::string> seen;
  for (const auto& [key, value] : wanted) {
    problems.AddUnless(live.count(key) > 0, key,
                       ": is no key that can change while the experiment runs; wanted one of ",
                       absl::StrJoin(keys, ", "), DidYouMean(key, keys));
    problems.AddUnless(seen.insert(key).second, key, ": got ", value, " and another value; wanted one");
  }
  return problems.ToStatus();
}

}  // namespace

absl::StatusOr<Experiment> ParseWithSettings(const std::string& yaml, const std::string& origin,
                                             const std::string& settings, const AlgorithmDefinitions& algorithms) {
  WAGGLE_ASSIGN_OR_RETURN(const Values values, ParseSettings(settings));
  return ParseStoredExperiment(yaml, origin, values, algorithms);
}

absl::StatusOr<Experiment> WithSettings(const Experiment& experiment, const std::string& settings,
                                        const AlgorithmDefinitions& algorithms) {
  return ParseWithSettings(ToYaml(experiment), kOrigin, settings, algorithms);
}

absl::StatusOr<ChangedSettings> ChangeSettings(const std::string& yaml, const std::string& settings,
                                               const Values& wanted, const AlgorithmDefinitions& algorithms) {
  WAGGLE_ASSIGN_OR_RETURN(Values values, ParseSettings(settings));
  WAGGLE_ASSIGN_OR_RETURN(const Experiment before, ParseStoredExperiment(yaml, kOrigin, values, algorithms));
  if (before.experiment.deterministic) {
    return absl::FailedPreconditionError(
        "experiment.deterministic: got true; wanted false, because a deterministic run follows from its file alone");
  }
  const std::map<std::string, std::string> old = LiveValues(before);
  WAGGLE_RETURN_IF_ERROR(CheckKeys(wanted, old));
  std::map<std::string, std::string> set(values.begin(), values.end());
  values.insert(values.end(), wanted.begin(), wanted.end());
  absl::StatusOr<Experiment> after = ParseStoredExperiment(yaml, kOrigin, values, algorithms);
  if (!after.ok()) {
    return WithoutFlags(after.status(), wanted);
  }
  const std::map<std::string, std::string> now = LiveValues(*after);
  ChangedSettings changed;
  for (const auto& [key, value] : wanted) {
    const auto found = now.find(key);
    if (found == now.end()) {
      return absl::InvalidArgumentError(absl::StrCat(key, ": has no meaning beside the other numbers; wanted none"));
    }
    set[key] = found->second;
  }
  for (const auto& [key, value] : std::map<std::string, std::string>(wanted.begin(), wanted.end())) {
    if (set.at(key) != old.at(key)) {
      changed.changes.push_back({key, old.at(key), set.at(key)});
    }
  }
  changed.settings = SettingsText(set);
  changed.experiment = *std::move(after);
  return changed;
}

}  // namespace waggle
