#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/nn/torch.h"
#include "common/rl/kit/stepper.h"

namespace waggle {

// Replaces a gradient by its mean over the learners of a group, then steps locally. Learners that begin with equal
// values and optimizers stay equal.
class AllReduceStepper : public Stepper {
 public:
  // `average` replaces a tensor by its mean; Step returns its errors. `local` must outlive this.
  AllReduceStepper(std::function<absl::Status(const torch::Tensor& tensor)> average, Stepper* local)
      : average_(std::move(average)), local_(local) {}

  absl::StatusOr<bool> Step(ParameterGroup* group, const Progress& progress) override;
  absl::Status Average(const torch::Tensor& tensor) override { return average_(tensor); }

 private:
  const std::function<absl::Status(const torch::Tensor& tensor)> average_;
  Stepper* const local_;
};

}  // namespace waggle
