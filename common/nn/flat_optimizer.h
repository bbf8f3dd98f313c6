#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/config/plan/optimizer_options.h"
#include "common/nn/flat_kernels.h"

namespace waggle {

// An optimizer's arrays, of the values' size and zero at first. Null if unneeded (OptimizerOptions::StateArrays).
template <class T>
struct OptimizerArrays {
  T* first = nullptr;   // The gradient's mean, or the momentum.
  T* second = nullptr;  // The mean of its square.
  T* third = nullptr;   // centered: the gradient's mean; amsgrad: the largest of `second` so far.
};

// An optimizer's steps over flat arrays on the CPU, which the caller owns. A step is Begin, Apply over all elements,
// maybe in parts, and End. Not thread-safe, except Apply of disjoint parts.
class FlatOptimizer {
 public:
  // The options must be valid.
  explicit FlatOptimizer(const OptimizerOptions& options) : options_(options) {}

  // Checks the whole gradient, which is multiplied by `scale`. INVALID_ARGUMENT if it is not finite.
  template <class T>
  absl::Status Begin(const T* gradients, int64_t count, double scale, double learning_rate) {
    return Begin(SumOfSquares(gradients, count), scale, learning_rate);
  }
  void Apply(float* values, const float* gradients, const OptimizerArrays<float>& arrays, int64_t count) const;
  void Apply(double* values, const double* gradients, const OptimizerArrays<double>& arrays, int64_t count) const;
  void End() { ++steps_; }
  void set_gradient_clip_norm(double norm) { options_.gradient_clip_norm = norm; }

  // Steps taken. Settable, to restore it.
  int64_t steps() const { return steps_; }
  int64_t* mutable_steps() { return &steps_; }
  // The L2 norm of the last step's scaled gradient before it was clipped.
  double gradient_norm() const { return gradient_norm_; }

 private:
  absl::Status Begin(double sum_of_squares, double scale, double learning_rate);
  template <class T>
  void ApplyAs(T* values, const T* gradients, const OptimizerArrays<T>& arrays, int64_t count) const;

  OptimizerOptions options_;
  int64_t steps_ = 0;
  double gradient_norm_ = 0;
  double gradient_scale_ = 1;  // For the step that has begun, clipping included.
  double learning_rate_ = 0;   // For that step.
};

}  // namespace waggle
