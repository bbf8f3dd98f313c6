#include "cli/run/resumed_experiment.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/file.h"
#include "common/base/status_macros.h"
#include "common/config/yaml_file.h"
#include "common/config/yaml_values.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kStop[] = "stop.";
constexpr size_t kLongestSummary = size_t{16} << 20;

// All values of an experiment by their keys, such as "learner.batch_size".
absl::StatusOr<Json> ValuesOf(const Experiment& experiment) {
  WAGGLE_ASSIGN_OR_RETURN(const YamlNode yaml, ParseYaml(ToYaml(experiment), "experiment.yaml"));
  const Json flat = YamlToJson(yaml, [](const YamlEntry&) {}).flatten();
  Json values = Json::object();
  for (const auto& [path, value] : flat.items()) {
    values[absl::StrReplaceAll(path.substr(1), {{"/", "."}})] = value;
  }
  return values;
}

std::string TextOf(const Json& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? "nothing" : found->dump(-1, ' ', true, Json::error_handler_t::replace);
}

// "solved" or "limit" if the run has come to its own end.
std::string EndOf(const std::string& run) {
  const std::string text = ReadSmallFile(absl::StrCat(run, "/summary.json"), kLongestSummary).value_or("");
  const Json summary = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto outcome = summary.is_object() ? summary.find("outcome") : summary.end();
  const bool ended = summary.is_object() && outcome != summary.end() && (*outcome == "solved" || *outcome == "limit");
  return ended ? outcome->get<std::string>() : "";
}

}  // namespace

absl::StatusOr<ResumedExperiment> LoadResumedExperiment(
    const std::string& run, const std::string& file,
    const std::vector<std::pair<std::string, std::string>>& overrides) {
  const std::string own_file = absl::StrCat(run, "/experiment.yaml");
  WAGGLE_ASSIGN_OR_RETURN(const CheckedExperiment own,
                          LoadCheckedExperiment(own_file, {}, ForeignEnvironments::kNotOpened));
  ResumedExperiment resumed;
  WAGGLE_ASSIGN_OR_RETURN(resumed.checked, LoadCheckedExperiment(file.empty() ? own_file : file, overrides));
  WAGGLE_ASSIGN_OR_RETURN(const Json before, ValuesOf(own.experiment));
  WAGGLE_ASSIGN_OR_RETURN(const Json after, ValuesOf(resumed.checked.experiment));
  std::set<std::string> keys;
  for (const Json* const values : {&before, &after}) {
    for (const auto& [key, value] : values->items()) {
      keys.insert(key);
    }
  }
  for (const std::string& key : keys) {
    const std::string was = TextOf(before, key);
    const std::string is = TextOf(after, key);
    if (was == is) {
      continue;
    }
    if (!absl::StartsWith(key, kStop)) {
      return absl::InvalidArgumentError(absl::StrCat(key, ": got ", is, "; wanted ", was, " as in ", own_file,
                                                     ": only keys of the section stop may change when a run goes on"));
    }
    resumed.limits.emplace_back(key, is);
  }
  if (const std::string end = EndOf(run); !end.empty() && resumed.limits.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        run, " has come to its end (", end,
        "); wanted an interrupted run, or a later limit, such as --max-env-steps or --set stop.target_return=X"));
  }
  return resumed;
}

}  // namespace waggle
