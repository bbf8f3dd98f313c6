#include "actor/environments/action_checker.h"

#include <cstring>

#include "actor/environments/leaf_elements.h"
#include "common/base/status_macros.h"

namespace waggle {

ActionChecker::ActionChecker(const EnvironmentSpec& spec) {
  for (const SpaceLeaf& leaf : spec.actions) {
    Action action;
    action.leaf = leaf;
    if (const SpaceLeaf* const mask = FindMaskOfAction(spec, leaf); mask != nullptr) {
      action.mask_leaf = static_cast<size_t>(mask - spec.observations.data());
      action.mask.assign(static_cast<size_t>(mask->array.NumElements()), 1);
      has_masks_ = true;
    }
    actions_.push_back(std::move(action));
  }
  if (actions_.size() == 1 && actions_[0].leaf.kind == SpaceKind::kDiscrete && !has_masks_) {
    only_choices_ = static_cast<uint64_t>(actions_[0].leaf.num_values[0]);
  }
}

void ActionChecker::CopyMasks(absl::Span<void* const> observations) {
  for (Action& action : actions_) {
    if (!action.mask.empty()) {
      std::memcpy(action.mask.data(), observations[action.mask_leaf], action.mask.size());
    }
  }
}

absl::Status ActionChecker::CheckAll(absl::Span<const void* const> actions) const {
  for (size_t i = 0; i < actions_.size(); ++i) {
    const Action& action = actions_[i];
    WAGGLE_RETURN_IF_ERROR(CheckElements(action.leaf, actions[i]));
    int64_t choices_before = 0;  // Choices of earlier elements, which come first in a mask.
    for (int64_t element = 0; !action.mask.empty() && element < action.leaf.array.NumElements(); ++element) {
      const int64_t choice = choices_before + ElementAt<int64_t>(actions[i], element);
      if (action.mask[static_cast<size_t>(choice)] == 0) {
        return ElementRefusal(action.leaf, actions[i], element, "wanted a choice that its mask allows");
      }
      choices_before += action.leaf.num_values[static_cast<size_t>(element)];
    }
  }
  return absl::OkStatus();
}

}  // namespace waggle
