#include "actor/environments/transforms/legal_choices.h"

#include <cstring>

namespace waggle {

LegalChoices::LegalChoices(const EnvironmentSpec& spec, int64_t lanes) {
  for (size_t action = 0; action < spec.actions.size(); ++action) {
    const SpaceLeaf* const leaf = FindMaskOfAction(spec, spec.actions[action]);
    if (leaf != nullptr) {
      Mask& mask = masks_.emplace_back();
      mask.observation = static_cast<size_t>(leaf - spec.observations.data());
      mask.action = action;
      mask.num_values = spec.actions[action].num_values;
      mask.choices = static_cast<size_t>(leaf->array.NumElements());
      mask.newest.resize(static_cast<size_t>(lanes) * mask.choices);
    }
  }
}

void LegalChoices::See(const ReadyLanes& ready) {
  for (Mask& mask : masks_) {
    const auto* shown = static_cast<const char*>(ready.observations[mask.observation]);
    for (const int64_t lane : ready.lanes) {
      std::memcpy(mask.newest.data() + static_cast<size_t>(lane) * mask.choices, shown, mask.choices);
      shown += mask.choices;
    }
  }
}

bool LegalChoices::Allow(int64_t lane, absl::Span<const void* const> actions, size_t row) const {
  for (const Mask& mask : masks_) {
    const uint8_t* allowed = mask.newest.data() + static_cast<size_t>(lane) * mask.choices;
    const int64_t* choice = static_cast<const int64_t*>(actions[mask.action]) + row * mask.num_values.size();
    for (const int64_t choices : mask.num_values) {
      if (allowed[*choice++] == 0) {
        return false;
      }
      allowed += choices;
    }
  }
  return true;
}

}  // namespace waggle
