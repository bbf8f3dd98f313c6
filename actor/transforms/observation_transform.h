#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/leaf_arrays.h"
#include "actor/transforms/environment_transform.h"

namespace waggle {

// A transform that makes new rows of some observation leaves, those whose arrays differ before and after it, and hands
// on the rows of all others as they are.
class ObservationTransform : public EnvironmentTransform {
 public:
  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) final;

 protected:
  explicit ObservationTransform(TransformParts parts);

  // Writes rows [rows, …] of a changed leaf, given by its index, from the rows before the transform. `ready` is what
  // the lanes show, before the transform too. INVALID_ARGUMENT, with the lane, for elements outside of their space.
  virtual absl::Status Map(size_t leaf, const ReadyLanes& ready, const void* from, void* to) = 0;

 private:
  // Rows of the changed leaves, and where rows of all leaves are.
  struct Frame {
    LeafArrays changed;
    std::vector<void*> pointers;
  };
  Frame NewFrame() const;

  const std::vector<size_t> changed_;
  std::array<Frame, 2> frames_;  // They take turns, as ReadyRows has it.
  size_t current_ = 0;
};

}  // namespace waggle
