#pragma once

#include <array>
#include <string>

#include "actor/environments/transforms/observation_transform.h"
#include "common/config/config_visitor.h"

namespace waggle {

// The settings of `scale`.
struct ScaleSettings {
  double min = -1;          // The number that 0 becomes.
  double max = 1;           // The number that 255 becomes.
  std::string observation;  // As in LeafSettings.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// Bytes become float32 within these bounds. A network with byte inputs divides them by 255 itself. This is for other
// bounds, at four times the bytes.
class Scale : public ObservationTransform {
 public:
  using Settings = ScaleSettings;
  static absl::Status Change(const Settings& settings, TransformedSpec* spec);

  Scale(const Settings& settings, TransformParts parts);

 private:
  absl::Status Map(size_t leaf, const ReadyLanes& ready, const void* from, void* to) override;

  std::array<float, 256> scaled_;  // By byte.
};

}  // namespace waggle
