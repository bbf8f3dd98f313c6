#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/schedule.h"
#include "common/nn/parameter_group.h"
#include "common/nn/torch.h"

namespace waggle {

// Applies gradients to parameters: here, averaged with other learners, by a server, or not at all.
class Stepper {
 public:
  virtual ~Stepper() = default;

  // Takes group.gradients(), at the learning rate of `progress`. Returns true if the group's values changed, so that
  // targets may follow. INVALID_ARGUMENT, with no change, if a gradient is not finite (see Optimizer::Step).
  virtual absl::StatusOr<bool> Step(ParameterGroup* group, const Progress& progress) = 0;

  // Replaces the group's values by these, [parameters], which are finite and the same for all learners. Returns true if
  // they were taken.
  virtual absl::StatusOr<bool> Assign(ParameterGroup* group, const torch::Tensor& values) {
    const torch::NoGradGuard no_grad;
    torch::Tensor own = group->values();
    own.copy_(values);
    return true;
  }

  // The L2 norm of the gradient of the group's last step, before clipping: a scalar. Undefined if it is not known here.
  virtual torch::Tensor GradientNorm(const ParameterGroup& group) const { return group.optimizer().gradient_norm(); }

  // Replaces a tensor, on the model's device, by its mean over all learners that step together.
  virtual absl::Status Average(const torch::Tensor& /*tensor*/) { return absl::OkStatus(); }
};

}  // namespace waggle
