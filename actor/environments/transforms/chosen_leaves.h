#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "actor/environments/transforms/transform.h"
#include "common/config/config_visitor.h"
#include "common/config/spec/space_leaf.h"

namespace waggle {

// The settings of a transform of observations without further settings.
struct LeafSettings {
  std::string observation;  // A leaf's name; empty: every leaf that fits, but for masks and copies.

  void Visit(ConfigVisitor& visitor) { visitor.String("observation", &observation); }
  absl::Status Validate() const { return absl::OkStatus(); }
};

// Indices of the observation leaves that a transform changes, at least one: `observation` is as in LeafSettings.
// INVALID_ARGUMENT if the leaf is missing or does not fit, or no leaf fits; `wanted` describes a fitting leaf.
absl::StatusOr<std::vector<size_t>> ChosenLeaves(const TransformedSpec& spec, const std::string& observation,
                                                 absl::FunctionRef<bool(const SpaceLeaf&)> fits,
                                                 absl::string_view wanted);

// Replaces bounds that differ between elements by one pair that contains all of them.
void WidenBounds(SpaceLeaf* leaf);

}  // namespace waggle
