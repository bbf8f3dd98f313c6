#include "common/nn/flat_optimizer.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace waggle {

absl::Status FlatOptimizer::Begin(double sum_of_squares, double scale, double learning_rate) {
  const double norm = scale * std::sqrt(sum_of_squares);
  if (!std::isfinite(norm)) {
    return absl::InvalidArgumentError(absl::StrCat("the gradient of step ", steps_ + 1, " is not finite"));
  }
  const double clip = options_.gradient_clip_norm;
  gradient_norm_ = norm;
  gradient_scale_ = scale * (clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1);
  learning_rate_ = learning_rate;
  return absl::OkStatus();
}

void FlatOptimizer::Apply(float* values, const float* gradients, const OptimizerArrays<float>& arrays,
                          int64_t count) const {
  ApplyAs(values, gradients, arrays, count);
}

void FlatOptimizer::Apply(double* values, const double* gradients, const OptimizerArrays<double>& arrays,
                          int64_t count) const {
  ApplyAs(values, gradients, arrays, count);
}

template <class T>
void FlatOptimizer::ApplyAs(T* values, const T* gradients, const OptimizerArrays<T>& arrays, int64_t count) const {
  const double rate = learning_rate_;
  if (options_.type == "sgd") {
    ApplySgd({gradient_scale_, options_.WeightDecay(), options_.momentum, rate}, values, gradients, arrays.first,
             count);
    return;
  }
  if (options_.type == "rmsprop") {
    ApplyRmsProp({gradient_scale_, options_.WeightDecay(), options_.alpha, options_.momentum, rate, options_.epsilon},
                 values, gradients, arrays.first, arrays.second, arrays.third, count);
    return;
  }
  const bool decoupled = options_.type == "adamw";
  const double power = static_cast<double>(steps_ + 1);
  AdamStep step;
  step.gradient_scale = gradient_scale_;
  step.weight_decay = decoupled ? 0 : options_.WeightDecay();
  step.value_scale = decoupled ? 1 - rate * options_.WeightDecay() : 1;
  step.beta1 = options_.beta1;
  step.beta2 = options_.beta2;
  step.step_size = rate / (1 - std::pow(options_.beta1, power));
  step.root_correction = 1 / std::sqrt(1 - std::pow(options_.beta2, power));
  step.epsilon = options_.epsilon;
  ApplyAdam(step, values, gradients, arrays.first, arrays.second, arrays.third, count);
}

}  // namespace waggle
