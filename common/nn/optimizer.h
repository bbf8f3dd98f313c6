#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/plan/optimizer_options.h"
#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"

namespace waggle {

// Computes a flat buffer's next values from its gradient: clips and steps. Not thread-safe.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // One step from `gradients`, which stay unchanged. INVALID_ARGUMENT, with no change, if the gradient is not finite.
  // On an accelerator the error comes up to 64 steps later, so that steps do not wait for the device. From the bad
  // gradient until then, steps change nothing.
  virtual absl::Status Step(const torch::Tensor& values, const torch::Tensor& gradients, double learning_rate) = 0;

  // See OptimizerOptions; from the next step on.
  virtual void set_gradient_clip_norm(double norm) = 0;

  // Steps taken.
  virtual int64_t steps() const = 0;
  // The L2 norm of the last step's gradient before clipping: a scalar on the device.
  virtual torch::Tensor gradient_norm() const = 0;

  virtual void VisitState(StateVisitor* visitor) = 0;
};

// For buffers like `values`. INVALID_ARGUMENT if the options are wrong.
absl::StatusOr<std::unique_ptr<Optimizer>> NewOptimizer(const OptimizerOptions& options, const torch::Tensor& values);

// The two forms: a sweep for float32 and float64 on the CPU; otherwise LibTorch's operations, without waits, in one
// kernel if it has one for the type. The options must be valid.
std::unique_ptr<Optimizer> NewCpuOptimizer(const OptimizerOptions& options, const torch::Tensor& values);
std::unique_ptr<Optimizer> NewDeviceOptimizer(const OptimizerOptions& options, const torch::Tensor& values);

}  // namespace waggle
