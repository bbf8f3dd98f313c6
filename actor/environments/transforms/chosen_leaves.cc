#include "actor/environments/transforms/chosen_leaves.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace waggle {

absl::StatusOr<std::vector<size_t>> ChosenLeaves(const TransformedSpec& spec, const std::string& observation,
                                                 absl::FunctionRef<bool(const SpaceLeaf&)> fits,
                                                 absl::string_view wanted) {
  std::vector<size_t> chosen;
  std::vector<std::string> names;
  std::vector<std::string> leaves;
  for (size_t i = 0; i < spec.spec.observations.size(); ++i) {
    const SpaceLeaf& leaf = spec.spec.observations[i];
    const std::string& name = leaf.array.name;
    if (IsActionMask(leaf)) {
      continue;
    }
    names.push_back(name);
    leaves.push_back(leaf.DebugString());
    if (name == observation && !fits(leaf)) {
      return absl::InvalidArgumentError(absl::StrCat("observation: got ", leaf.DebugString(), "; wanted ", wanted));
    }
    const bool is_copy = std::find(spec.copies.begin(), spec.copies.end(), name) != spec.copies.end();
    if (observation.empty() ? !is_copy && fits(leaf) : name == observation) {
      chosen.push_back(i);
    }
  }
  if (!chosen.empty()) {
    return chosen;
  }
  return absl::InvalidArgumentError(observation.empty()
                                        ? absl::StrCat("got ", absl::StrJoin(leaves, "; "), "; wanted ", wanted)
                                        : absl::StrCat("observation: got ", observation, "; wanted ",
                                                       names.size() > 1 ? "one of " : "", absl::StrJoin(names, ", ")));
}

void WidenBounds(SpaceLeaf* leaf) {
  if (leaf->low.size() > 1) {
    leaf->low = {*std::min_element(leaf->low.begin(), leaf->low.end())};
    leaf->high = {*std::max_element(leaf->high.begin(), leaf->high.end())};
  }
}

}  // namespace waggle
