#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environments/leaf_arrays.h"
#include "actor/environments/transforms/environment_transform.h"

namespace waggle {

// A transform that computes new rows of the observation leaves whose arrays it changes, and passes on all other rows.
class ObservationTransform : public EnvironmentTransform {
 public:
  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) final;

 protected:
  explicit ObservationTransform(TransformParts parts);

  // Writes rows [rows, …] of the changed leaf of index `leaf` from the rows before the transform. `ready` has all rows
  // before the transform. INVALID_ARGUMENT, with the lane, if an element is outside its space.
  virtual absl::Status Map(size_t leaf, const ReadyLanes& ready, const void* from, void* to) = 0;

 private:
  // Rows of the changed leaves, and pointers to the rows of all leaves.
  struct Frame {
    LeafArrays changed;
    std::vector<void*> pointers;
  };
  Frame NewFrame() const;

  const std::vector<size_t> changed_;
  std::array<Frame, 2> frames_;  // They alternate, as in ReadyRows.
  size_t current_ = 0;
};

}  // namespace waggle
