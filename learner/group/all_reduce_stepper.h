#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/nn/torch.h"
#include "common/rl/stepper.h"

namespace waggle {

// Replaces a gradient by its mean over the learners of a group, then steps here: where all began with the same values
// and optimizers, they stay the same.
class AllReduceStepper : public Stepper {
 public:
  // `average` replaces a tensor by its mean; what it fails with is what Step fails with. `local` outlives this.
  AllReduceStepper(std::function<absl::Status(const torch::Tensor& tensor)> average, Stepper* local)
      : average_(std::move(average)), local_(local) {}

  absl::StatusOr<bool> Step(ParameterGroup* group, const Progress& progress) override;

 private:
  const std::function<absl::Status(const torch::Tensor& tensor)> average_;
  Stepper* const local_;
};

}  // namespace waggle
