#include "actor/acting/random_actions.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "actor/acting/action_scaling.h"
#include "common/base/tensor/elements.h"

namespace waggle {

RandomActions::RandomActions(const EnvironmentSpec& spec, int64_t lanes, Rng rng)
    : spec_(spec), rng_(std::move(rng)), arrays_(ArraysOf(spec.actions), lanes) {
  for (const SpaceLeaf& leaf : spec.actions) {
    Action& action = actions_.emplace_back();
    action.leaf = &leaf;
    action.scaled = IsScaledAction(leaf);
    if (const SpaceLeaf* const mask = FindMaskOfAction(spec, leaf)) {
      action.mask = static_cast<int>(mask - spec.observations.data());
    }
  }
  pointers_.assign(arrays_.pointers().begin(), arrays_.pointers().end());
}

absl::Span<const void* const> RandomActions::Draw(const ReadyLanes& ready) {
  observations_.assign(ready.observations.begin(), ready.observations.end());
  return Draw(static_cast<int64_t>(ready.lanes.size()), observations_);
}

absl::Span<const void* const> RandomActions::Draw(int64_t rows, absl::Span<const void* const> observations) {
  for (size_t i = 0; i < actions_.size(); ++i) {
    const Action& action = actions_[i];
    const SpaceLeaf& leaf = *action.leaf;
    const int64_t elements = leaf.array.NumElements();
    const size_t element_bytes = DTypeSize(leaf.array.dtype);
    char* to = static_cast<char*>(arrays_.pointers()[i]);
    for (int64_t row = 0; row < rows; ++row) {
      const bool* mask = nullptr;
      if (action.mask >= 0) {
        mask = static_cast<const bool*>(observations[static_cast<size_t>(action.mask)]) + row * leaf.TotalChoices();
      }
      for (int64_t element = 0; element < elements; ++element, to += element_bytes) {
        StoreElement(leaf.array.dtype, DrawElement(action, element, mask), to);
        if (mask != nullptr) {
          mask += leaf.num_values[static_cast<size_t>(element)];
        }
      }
    }
  }
  return pointers_;
}

double RandomActions::DrawElement(const Action& action, int64_t element, const bool* mask) {
  const SpaceLeaf& leaf = *action.leaf;
  if (leaf.kind == SpaceKind::kMultiBinary) {
    return static_cast<double>(rng_.UniformInt(2));
  }
  if (!leaf.num_values.empty()) {
    const int64_t choices = leaf.num_values[static_cast<size_t>(element)];
    const int64_t legal = mask == nullptr ? choices : std::count(mask, mask + choices, true);
    int64_t left = legal > 0 ? static_cast<int64_t>(rng_.UniformInt(static_cast<uint64_t>(legal))) : 0;
    if (mask == nullptr || legal == 0) {
      return static_cast<double>(left);
    }
    int64_t choice = 0;
    while (!mask[choice] || left-- > 0) {
      ++choice;
    }
    return static_cast<double>(choice);
  }
  const double low = leaf.Low(element);
  const double high = leaf.High(element);
  if (!std::isfinite(low) || !std::isfinite(high)) {
    return std::clamp(rng_.Uniform(-1, 1), low, high);
  }
  if (action.scaled) {
    return rng_.Uniform(-1, 1);
  }
  return IsFloatingPoint(leaf.array.dtype) ? rng_.Uniform(low, high) : std::floor(rng_.Uniform(low, high + 1));
}

}  // namespace waggle
