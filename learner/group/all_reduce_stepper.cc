#include "learner/group/all_reduce_stepper.h"

#include "common/base/status_macros.h"

namespace waggle {

absl::StatusOr<bool> AllReduceStepper::Step(ParameterGroup* group, const Progress& progress) {
  WAGGLE_RETURN_IF_ERROR(average_(group->gradients()));
  return local_->Step(group, progress);
}

}  // namespace waggle
