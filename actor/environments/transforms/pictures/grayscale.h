#pragma once

#include "actor/environments/transforms/chosen_leaves.h"
#include "actor/environments/transforms/observation_transform.h"

namespace waggle {

// Pictures of bytes in red, green and blue, channels first or last, become [1, height, width]: their luma by ITU-R 601,
// 0.299 red + 0.587 green + 0.114 blue. As in Pillow it is computed in units of 1/65536 and rounded to the nearest.
class Grayscale : public ObservationTransform {
 public:
  using Settings = LeafSettings;
  static absl::Status Change(const Settings& settings, TransformedSpec* spec);

  Grayscale(const Settings& settings, TransformParts parts);

 private:
  absl::Status Map(size_t leaf, const ReadyLanes& ready, const void* from, void* to) override;
};

}  // namespace waggle
