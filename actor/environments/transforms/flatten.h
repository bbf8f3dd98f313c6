#pragma once

#include <utility>

#include "actor/environments/transforms/chosen_leaves.h"
#include "actor/environments/transforms/environment_transform.h"

namespace waggle {

// Boxes and multi-binary observations of any shape become vectors. Rows stay where they are.
class Flatten : public EnvironmentTransform {
 public:
  using Settings = LeafSettings;
  static absl::Status Change(const Settings& settings, TransformedSpec* spec);

  Flatten(const Settings& /*settings*/, TransformParts parts) : EnvironmentTransform(std::move(parts)) {}
};

}  // namespace waggle
