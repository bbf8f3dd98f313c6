#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/api/model.h"
#include "common/api/replay.h"

namespace waggle {

// What becomes of an actor's rows where gradients are pushed (learner.gradients: push): each block is an unroll of
// every lane, of which a gradient is computed at once, by the weights that acted it, and pushed. Nothing is kept. One
// thread, but for stats().
class GradientWorker : public ReplayWriter {
 public:
  // The weights that the run begins with, as every worker computes them from its seed; version and progress are left to
  // the caller.
  virtual absl::StatusOr<ModelSnapshot> FirstWeights() = 0;

  // What acts from now on: gradients are by these. FAILED_PRECONDITION if they are of another network.
  virtual absl::Status LoadWeights(const ModelSnapshot& snapshot) = 0;
};

}  // namespace waggle
