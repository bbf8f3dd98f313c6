#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/nn/flat_kernels.h"
#include "common/nn/optimizer.h"

namespace waggle {
namespace {

// Elements below which a second thread costs more than it saves.
constexpr int64_t kGrain = 32'768;

class CpuOptimizer : public Optimizer {
 public:
  CpuOptimizer(const OptimizerOptions& options, const torch::Tensor& values)
      : options_(options), first_(torch::zeros_like(values)), gradient_norm_(torch::zeros({}, torch::kFloat64)) {
    if (options_.type != "sgd") {
      second_ = torch::zeros_like(values);
    }
  }

  absl::Status Step(const torch::Tensor& values, const torch::Tensor& gradients) override {
    return values.scalar_type() == torch::kFloat64 ? StepAs<double>(values, gradients)
                                                   : StepAs<float>(values, gradients);
  }

  int64_t steps() const override { return steps_; }
  double learning_rate() const override { return options_.LearningRate(steps_); }
  torch::Tensor gradient_norm() const override { return gradient_norm_; }

  void VisitState(StateVisitor* visitor) override {
    visitor->Int("steps", &steps_);
    visitor->Tensor("first", &first_);
    if (second_.defined()) {
      visitor->Tensor("second", &second_);
    }
  }

 private:
  template <class T>
  absl::Status StepAs(const torch::Tensor& values, const torch::Tensor& gradients) {
    const double norm = std::sqrt(SumOfSquares(gradients.data_ptr<T>(), gradients.numel()));
    if (!std::isfinite(norm)) {
      return absl::InvalidArgumentError(absl::StrCat("the gradient of step ", steps_ + 1, " is not finite"));
    }
    *gradient_norm_.data_ptr<double>() = norm;
    const double clip = options_.gradient_clip_norm;
    const double scale = clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1;
    at::parallel_for(0, values.numel(), kGrain, [&](int64_t begin, int64_t end) {
      Apply(scale, values.data_ptr<T>() + begin, gradients.data_ptr<T>() + begin, first_.data_ptr<T>() + begin,
            second_.defined() ? second_.data_ptr<T>() + begin : nullptr, end - begin);
    });
    ++steps_;
    return absl::OkStatus();
  }

  template <class T>
  void Apply(double gradient_scale, T* values, const T* gradients, T* first, T* second, int64_t count) const {
    const double rate = learning_rate();
    if (options_.type == "sgd") {
      ApplySgd({gradient_scale, options_.weight_decay, options_.momentum, rate}, values, gradients, first, count);
      return;
    }
    if (options_.type == "rmsprop") {
      ApplyRmsProp({gradient_scale, options_.weight_decay, options_.alpha, options_.momentum, rate, options_.epsilon},
                   values, gradients, first, second, count);
      return;
    }
    const bool decoupled = options_.type == "adamw";
    const double power = static_cast<double>(steps_ + 1);
    AdamStep step;
    step.gradient_scale = gradient_scale;
    step.weight_decay = decoupled ? 0 : options_.weight_decay;
    step.value_scale = decoupled ? 1 - rate * options_.weight_decay : 1;
    step.beta1 = options_.beta1;
    step.beta2 = options_.beta2;
    step.step_size = rate / (1 - std::pow(options_.beta1, power));
    step.root_correction = 1 / std::sqrt(1 - std::pow(options_.beta2, power));
    step.epsilon = options_.epsilon;
    ApplyAdam(step, values, gradients, first, second, count);
  }

  const OptimizerOptions options_;
  int64_t steps_ = 0;
  torch::Tensor first_;   // The gradient's mean, or the momentum.
  torch::Tensor second_;  // The mean of its square.
  torch::Tensor gradient_norm_;
};

}  // namespace

std::unique_ptr<Optimizer> NewCpuOptimizer(const OptimizerOptions& options, const torch::Tensor& values) {
  return std::make_unique<CpuOptimizer>(options, values);
}

}  // namespace waggle
