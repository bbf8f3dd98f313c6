#pragma once

#include <cstdint>

// Sweeps over parameters on the CPU. Without LibTorch, for compiler options that vectorise square roots.

namespace waggle {

// Not finite if an element is not, or if the sum overflows: impossible for float32 elements below 1e150.
double SumOfSquares(const float* values, int64_t count);
double SumOfSquares(const double* values, int64_t count);

// sum[i] += scale * values[i].
void AddScaled(const float* values, float scale, float* sum, int64_t count);

struct AdamStep {
  double gradient_scale = 1;  // Multiplies every gradient first.
  double weight_decay = 0;    // Added to the gradient times the value (adam).
  double value_scale = 1;     // Multiplies every value (adamw's decay).
  double beta1 = 0;
  double beta2 = 0;
  double step_size = 0;        // Learning rate / (1 - beta1^t).
  double root_correction = 1;  // 1 / sqrt(1 - beta2^t).
  double epsilon = 0;
};
// `largest` has the largest of `squares` so far, whose root divides (amsgrad); null: that of `squares` divides.
void ApplyAdam(const AdamStep& step, float* values, const float* gradients, float* means, float* squares,
               float* largest, int64_t count);
void ApplyAdam(const AdamStep& step, double* values, const double* gradients, double* means, double* squares,
               double* largest, int64_t count);

struct RmsPropStep {
  double gradient_scale = 1;
  double weight_decay = 0;
  double alpha = 0;
  double momentum = 0;
  double learning_rate = 0;
  double epsilon = 0;
};
// `means` has the gradient's mean, whose square is subtracted from `squares` (centered); null otherwise.
void ApplyRmsProp(const RmsPropStep& step, float* values, const float* gradients, float* momenta, float* squares,
                  float* means, int64_t count);
void ApplyRmsProp(const RmsPropStep& step, double* values, const double* gradients, double* momenta, double* squares,
                  double* means, int64_t count);

struct SgdStep {
  double gradient_scale = 1;
  double weight_decay = 0;
  double momentum = 0;
  double learning_rate = 0;
};
void ApplySgd(const SgdStep& step, float* values, const float* gradients, float* momenta, int64_t count);
void ApplySgd(const SgdStep& step, double* values, const double* gradients, double* momenta, int64_t count);

}  // namespace waggle
