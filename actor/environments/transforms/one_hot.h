#pragma once

#include "actor/environments/transforms/chosen_leaves.h"
#include "actor/environments/transforms/observation_transform.h"

namespace waggle {

// Discrete and multi-discrete observations become float32 vectors with an element for each choice of each element: 1
// for the observed one, else 0.
class OneHot : public ObservationTransform {
 public:
  using Settings = LeafSettings;
  static absl::Status Change(const Settings& settings, TransformedSpec* spec);

  OneHot(const Settings& settings, TransformParts parts);

 private:
  absl::Status Map(size_t leaf, const ReadyLanes& ready, const void* from, void* to) override;
};

}  // namespace waggle
