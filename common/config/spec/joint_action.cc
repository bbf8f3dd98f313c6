#include "common/config/spec/joint_action.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/config/spec/leaf_name.h"

namespace waggle {
namespace {

bool IsReal(const SpaceLeaf& action) {
  return action.kind == SpaceKind::kBox;
}

}  // namespace

int64_t JointAction::TotalChoices() const {
  int64_t total = 0;
  for (const Part& part : parts) {
    total += part.choices;
  }
  return total;
}

int64_t JointAction::SideBySide() const {
  return num_values.empty() || is_scalar ? 0 : num_choosing() * *std::max_element(num_values.begin(), num_values.end());
}

std::string JointAction::Name() const {
  if (is_scalar) {
    return waggle::Name(SpaceKind::kDiscrete);
  }
  if (num_reals == 0) {
    return waggle::Name(SpaceKind::kMultiDiscrete);
  }
  return num_values.empty() ? waggle::Name(SpaceKind::kBox) : "mixed";
}

absl::Status CheckJointAction(const EnvironmentSpec& environment) {
  const std::vector<SpaceLeaf>& actions = environment.actions;
  const bool has_reals = std::any_of(actions.begin(), actions.end(), IsReal);
  int64_t choosing = 0;
  for (const SpaceLeaf& action : actions) {
    if (IsReal(action)) {
      continue;
    }
    choosing += action.array.NumElements();
    if (choosing > kMaxChoosing) {
      return absl::InvalidArgumentError(absl::StrCat(action.array.name, ": with it there are ", choosing,
                                                     " choices to make at once; wanted at most ", kMaxChoosing));
    }
    for (const int64_t choices : action.num_values) {
      if (has_reals && choices > kMaxChoicesBesideReals) {
        return absl::InvalidArgumentError(absl::StrCat(
            action.array.name, ": ", choices, " choices beside real actions; wanted at most ", kMaxChoicesBesideReals));
      }
    }
  }
  return absl::OkStatus();
}

JointAction JointActionOf(const EnvironmentSpec& environment) {
  const std::vector<SpaceLeaf>& actions = environment.actions;
  JointAction joint;
  joint.is_scalar = actions.size() == 1 && actions[0].kind == SpaceKind::kDiscrete;
  int64_t first = 0;
  for (const bool real : {false, true}) {
    for (size_t leaf = 0; leaf < actions.size(); ++leaf) {
      const SpaceLeaf& action = actions[leaf];
      if (IsReal(action) != real) {
        continue;
      }
      JointAction::Part part{leaf, first, action.array.NumElements(), action.TotalChoices()};
      if (action.kind == SpaceKind::kMultiBinary) {
        part.choices = 2 * part.elements;
        joint.num_values.insert(joint.num_values.end(), static_cast<size_t>(part.elements), 2);
      } else {
        joint.num_values.insert(joint.num_values.end(), action.num_values.begin(), action.num_values.end());
      }
      if (const SpaceLeaf* const mask = FindMaskOfAction(environment, action)) {
        part.mask = mask - environment.observations.data();
      }
      joint.num_reals += real ? part.elements : 0;
      first += part.elements;
      joint.parts.push_back(part);
    }
  }
  return joint;
}

absl::StatusOr<SpaceLeaf> AsOneLeaf(const EnvironmentSpec& environment) {
  const SpaceLeaf& only = environment.actions[0];
  const bool is_vector = IsReal(only) && only.array.shape.size() == 1;
  if (environment.actions.size() == 1 &&
      (is_vector || only.kind == SpaceKind::kDiscrete || only.kind == SpaceKind::kMultiDiscrete)) {
    return only;
  }
  const JointAction joint = JointActionOf(environment);
  if (joint.num_reals > 0 && !joint.num_values.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("environment ", environment.name, " has the actions ",
                                                   DebugString(ArraysOf(environment.actions)),
                                                   "; wanted only choices or only real numbers"));
  }
  return joint.num_reals > 0 ? Box(kActionRoot, DType::kFloat32, {joint.num_reals})
                             : MultiDiscrete(kActionRoot, joint.num_values);
}

}  // namespace waggle
