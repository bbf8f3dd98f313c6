#include "actor/environments/action_checker.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/config/range.h"
#include "common/tensor/elements.h"

namespace waggle {
namespace {

// The values of an element of a leaf that is not multi-binary.
Range RangeOf(const SpaceLeaf& leaf, int64_t element) {
  if (leaf.num_values.empty()) {
    return In(leaf.Low(element), leaf.High(element));
  }
  return In(0, static_cast<double>(leaf.num_values[static_cast<size_t>(element)] - 1));
}

bool Holds(const SpaceLeaf& leaf, int64_t element, double value) {
  if (leaf.array.dtype != DType::kFloat32) {
    return RangeOf(leaf, element).Holds(value);
  }
  // The bound 0.1 is met by the float32 nearest to it, which is above 0.1.
  const Range range = RangeOf(leaf, element);
  return In(static_cast<double>(static_cast<float>(range.low)), static_cast<double>(static_cast<float>(range.high)))
      .Holds(value);
}

// `why`: "wanted …" or the like.
absl::Status Refusal(const SpaceLeaf& leaf, const void* action, int64_t element, const std::string& why) {
  const std::string index = leaf.array.shape.empty() ? "" : absl::StrCat("[", element, "]");
  return absl::InvalidArgumentError(
      absl::StrCat(leaf.array.name, index, ": got ", ElementText(leaf.array.dtype, action, element), "; ", why));
}

}  // namespace

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

absl::Status ActionChecker::CheckElements(absl::Span<const void* const> actions) const {
  for (size_t i = 0; i < actions_.size(); ++i) {
    const SpaceLeaf& leaf = actions_[i].leaf;
    if (leaf.kind == SpaceKind::kMultiBinary) {
      continue;
    }
    int64_t choices_before = 0;  // Of the elements before this one: a mask has them first.
    for (int64_t element = 0; element < leaf.array.NumElements(); ++element) {
      if (!Holds(leaf, element, ElementAsDouble(leaf.array.dtype, actions[i], element))) {
        const Range range = RangeOf(leaf, element);
        return Refusal(
            leaf, actions[i], element,
            absl::StrCat("wanted ", IsFloatingPoint(leaf.array.dtype) ? range.NumberText() : range.IntegerText()));
      }
      if (!actions_[i].mask.empty()) {
        const int64_t choice = choices_before + ElementAt<int64_t>(actions[i], element);
        if (actions_[i].mask[static_cast<size_t>(choice)] == 0) {
          return Refusal(leaf, actions[i], element, "wanted a choice that its mask allows");
        }
        choices_before += leaf.num_values[static_cast<size_t>(element)];
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace waggle
