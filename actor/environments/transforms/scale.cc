#include "actor/environments/transforms/scale.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "actor/environments/transforms/chosen_leaves.h"
#include "common/base/status_macros.h"

namespace waggle {

void ScaleSettings::Visit(ConfigVisitor& visitor) {
  visitor.Double("min", &min, In(-1e6, 1e6));
  visitor.Double("max", &max, In(-1e6, 1e6));
  visitor.String("observation", &observation);
}

absl::Status ScaleSettings::Validate() const {
  return min < max ? absl::OkStatus()
                   : absl::InvalidArgumentError(absl::StrCat("min: got ", min, "; wanted less than max, ", max));
}

absl::Status Scale::Change(const Settings& settings, TransformedSpec* spec) {
  WAGGLE_ASSIGN_OR_RETURN(
      const std::vector<size_t> leaves,
      ChosenLeaves(
          *spec, settings.observation,
          [](const SpaceLeaf& leaf) { return leaf.kind == SpaceKind::kBox && leaf.array.dtype == DType::kUint8; },
          "a box of uint8"));
  for (const size_t leaf : leaves) {
    SpaceLeaf& changed = spec->spec.observations[leaf];
    changed = Box(changed.array.name, DType::kFloat32, changed.array.shape, settings.min, settings.max);
  }
  return absl::OkStatus();
}

Scale::Scale(const Settings& settings, TransformParts parts) : ObservationTransform(std::move(parts)) {
  for (size_t byte = 0; byte < scaled_.size(); ++byte) {
    const double share = static_cast<double>(byte) / 255;
    scaled_[byte] = static_cast<float>(settings.min * (1 - share) + settings.max * share);
  }
}

absl::Status Scale::Map(size_t leaf, const ReadyLanes& ready, const void* from, void* to) {
  const int64_t elements = static_cast<int64_t>(ready.lanes.size()) * spec().observations[leaf].array.NumElements();
  const auto* const bytes = static_cast<const uint8_t*>(from);
  auto* const scaled = static_cast<float*>(to);
  for (int64_t i = 0; i < elements; ++i) {
    scaled[i] = scaled_[bytes[i]];
  }
  return absl::OkStatus();
}

}  // namespace waggle
