#include "cli/export/exported_transforms.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actor/environments/transforms/apply_transforms.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

struct Given {
  std::string name;
  Json settings = Json::object();
};

// A transform in the form that TransformSpec has accepted.
Given ReadGiven(const Json& one) {
  if (one.is_string()) {
    return {one.get<std::string>()};
  }
  return {one.begin().key(), one.begin()->is_object() ? *one.begin() : Json::object()};
}

double Number(const Given& transform, const char* setting, double otherwise) {
  const auto found = transform.settings.find(setting);
  return found != transform.settings.end() && found->is_number() ? found->get<double>() : otherwise;
}

// True if observations are the same behind it. A repeat's pool is not seen in the spec.
bool LeavesObservations(const Given& transform) {
  static const auto* const others =
      new std::set<std::string>{"action_repeat", "no_op_start", "reward", "sticky_actions", "time_limit"};
  return others->count(transform.name) > 0 && Number(transform, "max_pool", 1) == 1;
}

// The leaf that a copy shows again: the named one, or the only one before it.
size_t CopiedLeaf(const Given& copy, const EnvironmentSpec& before) {
  const auto setting = copy.settings.find("observation");
  const std::string name = setting != copy.settings.end() && setting->is_string() ? setting->get<std::string>() : "";
  const auto named = std::find_if(before.observations.begin(), before.observations.end(),
                                  [&name](const SpaceLeaf& leaf) { return leaf.array.name == name; });
  if (named != before.observations.end()) {
    return static_cast<size_t>(named - before.observations.begin());
  }
  const auto only = std::find_if_not(before.observations.begin(), before.observations.end(), &IsActionMask);
  return static_cast<size_t>(only - before.observations.begin());
}

}  // namespace

absl::Status DivideTransforms(const EnvironmentOptions& options, const EnvironmentSpec& own, PolicySource* source) {
  WAGGLE_ASSIGN_OR_RETURN(source->environment, TransformSpec(own, options));
  const Json list = Json::parse(options.transforms, nullptr, /*allow_exceptions=*/false);
  std::vector<Given> given;
  size_t first = 0;  // The first transform that may be a step.
  for (size_t i = 0; i < list.size(); ++i) {
    given.push_back(ReadGiven(list[i]));
    first = LeavesObservations(given[i]) || ObservationStep::IsKnown(given[i].name) ? first : i + 1;
  }
  Json callers = Json::array();
  EnvironmentSpec before = own;
  for (size_t i = 0; i < given.size(); ++i) {
    EnvironmentOptions until = options;
    until.transforms = Json(std::vector<Json>(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i) + 1)).dump();
    WAGGLE_ASSIGN_OR_RETURN(EnvironmentSpec after, TransformSpec(own, until));
    if (i < first || LeavesObservations(given[i])) {
      callers.push_back(list[i]);
    } else {
      if (source->steps.empty()) {
        source->shown = before.observations;
      }
      ObservationStep step;
      step.transform = given[i].name;
      step.after = after.observations;
      step.min = Number(given[i], "min", step.min);
      step.max = Number(given[i], "max", step.max);
      step.copied = step.transform == "copy" ? CopiedLeaf(given[i], before) : 0;
      source->steps.push_back(std::move(step));
    }
    before = std::move(after);
  }
  source->transforms_json = callers.dump();
  return absl::OkStatus();
}

}  // namespace waggle
