#include "actor/environments/transforms/observation_transform.h"

#include <utility>

#include "common/base/status_macros.h"

namespace waggle {
namespace {

std::vector<size_t> ChangedLeaves(const EnvironmentSpec& before, const EnvironmentSpec& after) {
  std::vector<size_t> changed;
  for (size_t i = 0; i < after.observations.size(); ++i) {
    if (before.observations[i].array != after.observations[i].array) {
      changed.push_back(i);
    }
  }
  return changed;
}

}  // namespace

ObservationTransform::ObservationTransform(TransformParts parts)
    : EnvironmentTransform(std::move(parts)),
      changed_(ChangedLeaves(inner().spec(), spec())),
      frames_{NewFrame(), NewFrame()} {}

ObservationTransform::Frame ObservationTransform::NewFrame() const {
  std::vector<ArraySpec> arrays;
  for (const size_t leaf : changed_) {
    arrays.push_back(spec().observations[leaf].array);
  }
  return {LeafArrays(arrays, lanes()), std::vector<void*>(spec().observations.size())};
}

absl::StatusOr<ReadyLanes> ObservationTransform::Recv(int64_t at_least, const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(ReadyLanes ready, inner().Recv(at_least, stop));
  current_ = 1 - current_;
  Frame& frame = frames_[current_];
  frame.pointers.assign(ready.observations.begin(), ready.observations.end());
  for (size_t i = 0; i < changed_.size(); ++i) {
    const size_t leaf = changed_[i];
    WAGGLE_RETURN_IF_ERROR(Map(leaf, ready, ready.observations[leaf], frame.changed.pointers()[i]));
    frame.pointers[leaf] = frame.changed.pointers()[i];
  }
  ready.observations = frame.pointers;
  return ready;
}

}  // namespace waggle
