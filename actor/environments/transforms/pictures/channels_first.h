#pragma once

#include "actor/environments/transforms/chosen_leaves.h"
#include "actor/environments/transforms/observation_transform.h"

namespace waggle {

// Pictures [height, width, channels] become [channels, height, width], the layout of convolutions.
class ChannelsFirst : public ObservationTransform {
 public:
  using Settings = LeafSettings;
  static absl::Status Change(const Settings& settings, TransformedSpec* spec);

  ChannelsFirst(const Settings& settings, TransformParts parts);

 private:
  absl::Status Map(size_t leaf, const ReadyLanes& ready, const void* from, void* to) override;
};

}  // namespace waggle
