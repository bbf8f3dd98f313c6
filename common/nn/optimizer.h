#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"
#include "common/plan/optimizer_options.h"

namespace waggle {

// Turns the gradient of a flat buffer of values into its next values: clips, steps. Not thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One step from `gradients`, which do not change, at this learning rate: the caller knows how far the run is.
  // INVALID_ARGUMENT, with nothing changed, if the gradient is not finite. On an accelerator that is found out up to 64
  // steps later, so as not to wait for the device in every step: from the bad gradient on every step changes nothing
  // until the error comes back.
  virtual absl::Status Step(const torch::Tensor& values, const torch::Tensor& gradients, double learning_rate) = 0;

  // Steps taken.
  virtual int64_t steps() const = 0;
  // The L2 norm of the last step's gradient before it was clipped: a scalar on the device.
  virtual torch::Tensor gradient_norm() const = 0;

  virtual void VisitState(StateVisitor* visitor) = 0;
};

// For buffers like `values`. INVALID_ARGUMENT if the options are wrong.
absl::StatusOr<std::unique_ptr<Optimizer>> NewOptimizer(const OptimizerOptions& options, const torch::Tensor& values);

// The two forms: one sweep over the memory, for float32 and float64 on the CPU; and operations of LibTorch without a
// wait for the device, for everything else, in one kernel if LibTorch has one for the type. The options must be valid.
std::unique_ptr<Optimizer> NewCpuOptimizer(const OptimizerOptions& options, const torch::Tensor& values);
std::unique_ptr<Optimizer> NewDeviceOptimizer(const OptimizerOptions& options, const torch::Tensor& values);

}  // namespace waggle
