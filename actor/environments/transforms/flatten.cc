#include "actor/environments/transforms/flatten.h"

#include "common/base/status_macros.h"

namespace waggle {

absl::Status Flatten::Change(const Settings& settings, TransformedSpec* spec) {
  WAGGLE_ASSIGN_OR_RETURN(
      const std::vector<size_t> leaves,
      ChosenLeaves(
          *spec, settings.observation,
          [](const SpaceLeaf& leaf) { return leaf.num_values.empty() && leaf.array.shape.size() != 1; },
          "a box or multi-binary one that is not a vector"));
  for (const size_t leaf : leaves) {
    ArraySpec& array = spec->spec.observations[leaf].array;
    array.shape = {array.NumElements()};
  }
  return absl::OkStatus();
}

}  // namespace waggle
