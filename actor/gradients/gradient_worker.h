#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/hub/ports/model.h"
#include "common/replay/ports/replay.h"

namespace waggle {

// The writer of an actor whose gradients are pushed (learner.gradients: push). Each block is an unroll of every lane.
// Its gradient is computed at once, by the weights that acted, and pushed. Rows are not kept. One thread, but for
// stats().
class GradientWorker : public ReplayWriter {
 public:
  // The run's first weights, which every worker computes from the run's seed. The caller sets version and progress.
  virtual absl::StatusOr<ModelSnapshot> FirstWeights() = 0;

  // Loads the weights that act and that gradients are computed by. FAILED_PRECONDITION if they are of another network.
  virtual absl::Status LoadWeights(const ModelSnapshot& snapshot) = 0;

  // Computes gradients by these settings from now on. See Trainee::Set.
  virtual absl::Status Set(const std::string& settings) = 0;
};

}  // namespace waggle
