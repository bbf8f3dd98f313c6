#include "actor/environments/transforms/one_hot.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr int64_t kMaxChoices = int64_t{1} << 16;

}  // namespace

absl::Status OneHot::Change(const Settings& settings, TransformedSpec* spec) {
  WAGGLE_ASSIGN_OR_RETURN(
      const std::vector<size_t> leaves,
      ChosenLeaves(
          *spec, settings.observation,
          [](const SpaceLeaf& leaf) { return !leaf.num_values.empty() && leaf.TotalChoices() <= kMaxChoices; },
          absl::StrCat("a discrete or multi-discrete one of at most ", kMaxChoices, " choices")));
  for (const size_t leaf : leaves) {
    SpaceLeaf& changed = spec->spec.observations[leaf];
    changed = Box(changed.array.name, DType::kFloat32, {changed.TotalChoices()}, 0, 1);
  }
  return absl::OkStatus();
}

OneHot::OneHot(const Settings& /*settings*/, TransformParts parts) : ObservationTransform(std::move(parts)) {}

absl::Status OneHot::Map(size_t leaf, const ReadyLanes& ready, const void* from, void* to) {
  const std::vector<int64_t>& num_values = inner().spec().observations[leaf].num_values;
  const auto* choice = static_cast<const int64_t*>(from);
  auto* hot = static_cast<float*>(to);
  for (const int64_t lane : ready.lanes) {
    for (const int64_t choices : num_values) {
      if (*choice < 0 || *choice >= choices) {
        return absl::InvalidArgumentError(absl::StrCat("lane ", lane, ": ", spec().observations[leaf].array.name,
                                                       ": got ", *choice, "; wanted an integer in [0, ", choices - 1,
                                                       "]"));
      }
      std::fill_n(hot, choices, 0.0F);
      hot[*choice++] = 1;
      hot += choices;
    }
  }
  return absl::OkStatus();
}

}  // namespace waggle
