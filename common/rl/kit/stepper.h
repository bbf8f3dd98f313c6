#pragma once

#include "absl/status/statusor.h"
#include "common/config/schedule.h"
#include "common/nn/parameter_group.h"

namespace waggle {

// Applies gradients to parameters: here, averaged with other learners, by a server, or not at all.
class Stepper {
 public:
  virtual ~Stepper() = default;

  // Takes group.gradients(), at the learning rate of `progress`. Returns true if the group's values changed, so that
  // targets may follow. INVALID_ARGUMENT, with no change, if a gradient is not finite (see Optimizer::Step).
  virtual absl::StatusOr<bool> Step(ParameterGroup* group, const Progress& progress) = 0;
};

}  // namespace waggle
