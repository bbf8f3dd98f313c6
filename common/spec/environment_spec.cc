#include "common/spec/environment_spec.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

absl::Status ValidateAction(const ActionSpec& action) {
  switch (action.kind) {
    case ActionSpec::Kind::kDiscrete:
      if (action.num_values < 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("action: ", action.num_values, " choices; a discrete action needs at least 1"));
      }
      if (!action.low.empty() || !action.high.empty()) {
        return absl::InvalidArgumentError("action: a discrete action has no bounds");
      }
      return absl::OkStatus();
    case ActionSpec::Kind::kContinuous:
      if (action.num_values != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("action: a continuous action has no choices; got ", action.num_values));
      }
      if (action.low.empty() || action.low.size() != action.high.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("action: needs one lower and one upper bound for each of at least 1 dimension; got ",
                         action.low.size(), " and ", action.high.size()));
      }
      for (size_t i = 0; i < action.low.size(); ++i) {
        // Infinite bounds are allowed: the action is then unbounded on that side. The comparison is false for NaN.
        if (!(action.low[i] < action.high[i])) {
          return absl::InvalidArgumentError(absl::StrCat("action: the bounds of dimension ", i, " are [", action.low[i],
                                                         ", ", action.high[i], "]; wanted low < high"));
        }
      }
      return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("action: ", static_cast<int>(action.kind), " is no kind of action"));
}

}  // namespace

ArraySpec ActionSpec::Array() const {
  if (kind == Kind::kDiscrete) {
    return ArraySpec{"action", DType::kInt64, {}};
  }
  return ArraySpec{"action", DType::kFloat32, {static_cast<int64_t>(low.size())}};
}

absl::Status EnvironmentSpec::Validate() const {
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(name), "environment name"));
  const std::string context = absl::StrCat("environment ", name);
  WAGGLE_RETURN_IF_ERROR(Annotate(observation.Validate(), context));
  if (observation.name != "observation") {
    return absl::InvalidArgumentError(
        absl::StrCat(context, ": its observation is named \"", observation.name, "\"; wanted \"observation\""));
  }
  if (observation.NumElements() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(context, ": ", observation.DebugString(), " is empty; wanted at least one element"));
  }
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateAction(action), context));
  WAGGLE_RETURN_IF_ERROR(Annotate(action.Array().Validate(), context));
  if (max_episode_steps < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(context, ": max_episode_steps: ", max_episode_steps, "; wanted 0 (never) or more"));
  }
  return absl::OkStatus();
}

std::string EnvironmentSpec::DebugString() const {
  std::string text = absl::StrCat(name, " (", observation.DebugString(), ", ", action.Array().DebugString());
  if (action.kind == ActionSpec::Kind::kDiscrete) {
    absl::StrAppend(&text, " of ", action.num_values, " choices");
  } else {
    absl::StrAppend(&text, " in [", absl::StrJoin(action.low, ", "), "] to [", absl::StrJoin(action.high, ", "), "]");
  }
  if (max_episode_steps > 0) {
    absl::StrAppend(&text, ", at most ", max_episode_steps, " steps an episode");
  }
  return absl::StrCat(text, ")");
}

}  // namespace waggle
