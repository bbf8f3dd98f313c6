#pragma once

#include "absl/status/statusor.h"
#include "common/config/schedule.h"
#include "common/nn/parameter_group.h"

namespace waggle {

// What happens between a gradient and the next values of the parameters: the same algorithm can step here, average with
// other learners, push its gradient to a server, or keep it, and does not know which.
class Stepper {
 public:
  virtual ~Stepper() = default;

  // Takes group.gradients(), at the learning rate of this progress. Returns whether the group's values changed; if so,
  // targets may follow them. INVALID_ARGUMENT, with nothing changed, for a gradient that is not finite (see
  // Optimizer::Step for when an accelerator says so).
  virtual absl::StatusOr<bool> Step(ParameterGroup* group, const Progress& progress) = 0;
};

}  // namespace waggle
