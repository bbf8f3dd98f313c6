#pragma once

#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "common/nn/torch.h"
#include "common/rl/stepper.h"

namespace waggle {

// Steps here: the group's own optimizer, with its clipping and its schedule.
class LocalStepper : public Stepper {
 public:
  absl::StatusOr<bool> Step(ParameterGroup* group, const Progress& progress) override;
};

// Keeps a copy of each group's gradient and changes nothing: gradients computed here and applied elsewhere.
class CaptureStepper : public Stepper {
 public:
  absl::StatusOr<bool> Step(ParameterGroup* group, const Progress& progress) override;

  // The last gradient of each group, flat, by the group's name.
  const std::map<std::string, torch::Tensor, std::less<>>& gradients() const { return gradients_; }

 private:
  std::map<std::string, torch::Tensor, std::less<>> gradients_;
};

// Puts a captured gradient into the group, where a stepper finds it. INVALID_ARGUMENT if its size is not the group's.
absl::Status SetGradients(const torch::Tensor& gradients, ParameterGroup* group);

}  // namespace waggle
