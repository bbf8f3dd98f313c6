#include "actor/environments/transforms/copy_leaf.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "actor/environments/transforms/chosen_leaves.h"
#include "common/base/status_macros.h"
#include "common/config/spec/leaf_name.h"

namespace waggle {
namespace {

absl::StatusOr<size_t> CopiedLeaf(const CopySettings& settings, const TransformedSpec& spec) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<size_t> leaves,
                          ChosenLeaves(
                              spec, settings.observation, [](const SpaceLeaf&) { return true; }, "an observation"));
  if (leaves.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("observation: is missing; wanted one of the ", leaves.size(),
                                                   " observations, such as ",
                                                   spec.spec.observations[leaves[0]].array.name));
  }
  return leaves[0];
}

}  // namespace

void CopySettings::Visit(ConfigVisitor& visitor) {
  visitor.String("observation", &observation);
  visitor.String("as", &as);
}

absl::Status CopySettings::Validate() const {
  return SplitLeafName(absl::StrCat(kObservationRoot, "/", as)).ok() && !as.empty()
             ? absl::OkStatus()
             : absl::InvalidArgumentError(
                   absl::StrCat("as: got ", as, "; wanted the path of a leaf, of letters, digits, _, -, . and /"));
}

absl::Status CopyLeaf::Change(const Settings& settings, TransformedSpec* spec) {
  WAGGLE_ASSIGN_OR_RETURN(const size_t copied, CopiedLeaf(settings, *spec));
  SpaceLeaf& leaf = spec->spec.observations[copied];
  WAGGLE_ASSIGN_OR_RETURN(LeafName name, SplitLeafName(leaf.array.name));
  if (name.path.empty()) {
    name.path = kObservationRoot;
    leaf.array.name = name.Join();
  }
  name.path = settings.as;
  SpaceLeaf copy = leaf;
  copy.array.name = name.Join();
  spec->copies.push_back(copy.array.name);
  spec->spec.observations.push_back(std::move(copy));
  return absl::OkStatus();
}

CopyLeaf::CopyLeaf(const Settings& settings, TransformParts parts) : EnvironmentTransform(std::move(parts)) {
  copied_ = *CopiedLeaf(settings, before());
}

absl::StatusOr<ReadyLanes> CopyLeaf::Recv(int64_t at_least, const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(ReadyLanes ready, inner().Recv(at_least, stop));
  current_ = 1 - current_;
  pointers_[current_].assign(ready.observations.begin(), ready.observations.end());
  pointers_[current_].push_back(ready.observations[copied_]);
  ready.observations = pointers_[current_];
  return ready;
}

}  // namespace waggle
