#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/nn/flat_kernels.h"
#include "common/plan/optimizer_options.h"

namespace waggle {

// The arrays that an optimizer keeps beside the values, of their size and zero before the first step. Those that the
// options do not need (OptimizerOptions::StateArrays) are null.
template <class T>
struct OptimizerArrays {
  T* first = nullptr;   // The gradient's mean, or the momentum.
  T* second = nullptr;  // The mean of its square.
  T* third = nullptr;   // centered: the gradient's mean; amsgrad: the largest of `second` so far.
};

// The arithmetic of an optimizer's step over flat arrays in the CPU's memory, which belong to the caller. A step is
// Begin, Apply over all elements, in parts if necessary, and End. Not thread-safe, except Apply of disjoint parts.
class FlatOptimizer {
 public:
  // The options must be valid.
  explicit FlatOptimizer(const OptimizerOptions& options) : options_(options) {}

  // Checks the whole gradient, each of whose elements counts `scale` times. INVALID_ARGUMENT if it is not finite; the
  // step then has not begun.
  template <class T>
  absl::Status Begin(const T* gradients, int64_t count, double scale, double learning_rate) {
    return Begin(SumOfSquares(gradients, count), scale, learning_rate);
  }
  void Apply(float* values, const float* gradients, const OptimizerArrays<float>& arrays, int64_t count) const;
  void Apply(double* values, const double* gradients, const OptimizerArrays<double>& arrays, int64_t count) const;
  void End() { ++steps_; }

  // Steps taken. Restoring sets it.
  int64_t steps() const { return steps_; }
  int64_t* mutable_steps() { return &steps_; }
  // The L2 norm of the last step's scaled gradient before it was clipped.
  double gradient_norm() const { return gradient_norm_; }

 private:
  absl::Status Begin(double sum_of_squares, double scale, double learning_rate);
  template <class T>
  void ApplyAs(T* values, const T* gradients, const OptimizerArrays<T>& arrays, int64_t count) const;

  const OptimizerOptions options_;
  int64_t steps_ = 0;
  double gradient_norm_ = 0;
  double gradient_scale_ = 1;  // For the step that has begun, clipping included.
  double learning_rate_ = 0;   // For that step.
};

}  // namespace waggle
