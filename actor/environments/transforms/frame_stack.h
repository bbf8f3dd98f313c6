#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "actor/environments/transforms/observation_transform.h"
#include "common/config/config_visitor.h"

namespace waggle {

// The settings of `frame_stack`.
struct FrameStackSettings {
  int64_t frames = 4;
  std::string observation;  // As in LeafSettings.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// Boxes and multi-binary observations show their newest frames, the oldest first. At an episode's beginning the first
// frame is repeated for those before it. [channels, height, width] becomes [frames * channels, height, width], [height,
// width] [frames, height, width], [n] [frames * n] and a scalar [frames].
class FrameStack : public ObservationTransform {
 public:
  using Settings = FrameStackSettings;
  static absl::Status Change(const Settings& settings, TransformedSpec* spec);

  FrameStack(const Settings& settings, TransformParts parts);

 private:
  // The newest frames of each lane, a ring each.
  struct History {
    size_t frame_bytes = 0;
    std::vector<char> frames;    // [lanes, frames, frame_bytes].
    std::vector<size_t> oldest;  // By lane: the frame that is replaced next.
  };

  absl::Status Map(size_t leaf, const ReadyLanes& ready, const void* from, void* to) override;

  const size_t frames_;
  std::vector<History> histories_;  // By leaf; empty for unchanged leaves.
};

}  // namespace waggle
