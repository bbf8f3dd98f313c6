#pragma once

#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "common/nn/torch.h"
#include "common/rl/kit/stepper.h"

namespace waggle {

// Steps by the group's own optimizer, with its clipping and schedule.
class LocalStepper : public Stepper {
 public:
  absl::StatusOr<bool> Step(ParameterGroup* group, const Progress& progress) override;
};

// Copies each group's gradient and changes nothing, for gradients that are applied elsewhere.
class CaptureStepper : public Stepper {
 public:
  absl::StatusOr<bool> Step(ParameterGroup* group, const Progress& progress) override;
  absl::StatusOr<bool> Assign(ParameterGroup* /*group*/, const torch::Tensor& /*values*/) override { return false; }

  // The last gradient of each group, flat, by the group's name.
  const std::map<std::string, torch::Tensor, std::less<>>& gradients() const { return gradients_; }

 private:
  std::map<std::string, torch::Tensor, std::less<>> gradients_;
};

// Copies a captured gradient into the group. INVALID_ARGUMENT if its size is not the group's.
absl::Status SetGradients(const torch::Tensor& gradients, ParameterGroup* group);

}  // namespace waggle
