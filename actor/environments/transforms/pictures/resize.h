#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "actor/environments/transforms/observation_transform.h"
#include "actor/environments/transforms/pictures/picture_layout.h"
#include "common/config/config_visitor.h"

namespace waggle {

// The settings of `resize`.
struct ResizeSettings {
  int64_t height = 84;
  int64_t width = 84;
  std::string observation;  // As in LeafSettings.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// Pictures of bytes or float32, channels first or last, become [channels, height, width], or [height, width] if they
// have no channels. A pixel of the result is the mean of the area that it covers, with partial pixels weighted by their
// share. This equals OpenCV's INTER_AREA for smaller pictures, and is used for larger ones too. Bytes are rounded to
// the nearest.
class Resize : public ObservationTransform {
 public:
  using Settings = ResizeSettings;
  static absl::Status Change(const Settings& settings, TransformedSpec* spec);

  Resize(const Settings& settings, TransformParts parts);

 private:
  // The weights, along one side, of the elements from `first` on whose sum is an element of the result.
  struct Cover {
    int64_t first = 0;
    std::vector<float> weights;
  };
  struct Plan {
    PictureLayout picture;  // The layout before the transform.
    std::vector<Cover> rows;
    std::vector<Cover> columns;
  };
  static std::vector<Cover> Covers(int64_t from, int64_t to);

  absl::Status Map(size_t leaf, const ReadyLanes& ready, const void* from, void* to) override;
  template <class Element>
  void MapPictures(const Plan& plan, size_t pictures, const Element* from, Element* to);

  std::vector<Plan> plans_;  // By changed leaf.
  std::vector<float> line_;  // A row of the result, as wide as the original picture.
};

}  // namespace waggle
