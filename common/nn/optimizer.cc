#include "common/nn/optimizer.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/config/field_checker.h"
#include "common/nn/flat_optimizer.h"
#include "common/nn/torch_compat.h"

namespace waggle {
namespace {

// Fewer elements are not worth a second thread.
constexpr int64_t kGrain = 32'768;

class CpuOptimizer : public Optimizer {
 public:
  CpuOptimizer(const OptimizerOptions& options, const torch::Tensor& values)
      : flat_(options), first_(torch::zeros_like(values)), gradient_norm_(torch::zeros({}, torch::kFloat64)) {
    if (options.StateArrays() > 1) {
      second_ = torch::zeros_like(values);
    }
    if (options.StateArrays() > 2) {
      third_ = torch::zeros_like(values);
    }
  }

  absl::Status Step(const torch::Tensor& values, const torch::Tensor& gradients, double learning_rate) override {
    return values.scalar_type() == torch::kFloat64 ? StepAs<double>(values, gradients, learning_rate)
                                                   : StepAs<float>(values, gradients, learning_rate);
  }

  void set_gradient_clip_norm(double norm) override { flat_.set_gradient_clip_norm(norm); }
  int64_t steps() const override { return flat_.steps(); }
  torch::Tensor gradient_norm() const override { return gradient_norm_; }

  void VisitState(StateVisitor* visitor) override {
    visitor->Int("steps", flat_.mutable_steps());
    visitor->Tensor("first", &first_);
    if (second_.defined()) {
      visitor->Tensor("second", &second_);
    }
    if (third_.defined()) {
      visitor->Tensor("third", &third_);
    }
  }

 private:
  template <class T>
  absl::Status StepAs(const torch::Tensor& values, const torch::Tensor& gradients, double learning_rate) {
    WAGGLE_RETURN_IF_ERROR(flat_.Begin(gradients.data_ptr<T>(), gradients.numel(), /*scale=*/1, learning_rate));
    *gradient_norm_.data_ptr<double>() = flat_.gradient_norm();
    at::parallel_for(0, values.numel(), kGrain, [&](int64_t begin, int64_t end) {
      OptimizerArrays<T> arrays;
      arrays.first = first_.data_ptr<T>() + begin;
      arrays.second = second_.defined() ? second_.data_ptr<T>() + begin : nullptr;
      arrays.third = third_.defined() ? third_.data_ptr<T>() + begin : nullptr;
      flat_.Apply(values.data_ptr<T>() + begin, gradients.data_ptr<T>() + begin, arrays, end - begin);
    });
    flat_.End();
    return absl::OkStatus();
  }

  FlatOptimizer flat_;
  torch::Tensor first_;  // See OptimizerArrays.
  torch::Tensor second_;
  torch::Tensor third_;
  torch::Tensor gradient_norm_;
};

// Steps between checks that gradients were finite, which wait for the device.
constexpr int64_t kCheckPeriod = 64;

class DeviceOptimizer : public Optimizer {
 public:
  DeviceOptimizer(const OptimizerOptions& options, const torch::Tensor& values)
      : options_(options),
        first_(torch::zeros_like(values)),
        healthy_(torch::ones({}, values.options().dtype(torch::kBool))),
        gradient_norm_(torch::zeros({}, values.options())) {
    if (options_.type != "sgd") {
      second_ = torch::zeros_like(values);
    }
    if (options_.StateArrays() > 2) {
      third_ = torch::zeros_like(values);
    }
  }

  absl::Status Step(const torch::Tensor& values, const torch::Tensor& gradients, double learning_rate) override {
    torch::NoGradGuard no_grad;
    gradient_norm_ = gradients.norm();
    healthy_.logical_and_(torch::isfinite(gradient_norm_));
    torch::Tensor gradient = gradients;
    if (options_.gradient_clip_norm > 0) {
      gradient = gradient * torch::clamp_max(options_.gradient_clip_norm / (gradient_norm_ + 1e-6), 1);
    }
    Apply(values, gradient, learning_rate);
    ++steps_;
    if (steps_ % kCheckPeriod == 0 && !healthy_.item<bool>()) {
      return absl::InvalidArgumentError(absl::StrCat("the gradient of one of the steps ", steps_ - kCheckPeriod + 1,
                                                     " to ", steps_,
                                                     " is not finite; nothing was changed from that step on"));
    }
    return absl::OkStatus();
  }

  void set_gradient_clip_norm(double norm) override { options_.gradient_clip_norm = norm; }
  int64_t steps() const override { return steps_; }
  torch::Tensor gradient_norm() const override { return gradient_norm_; }

  void VisitState(StateVisitor* visitor) override {
    visitor->Int("steps", &steps_);
    visitor->Tensor("first", &first_);
    if (second_.defined()) {
      visitor->Tensor("second", &second_);
    }
    if (third_.defined()) {
      visitor->Tensor("third", &third_);
    }
  }

 private:
  void Apply(const torch::Tensor& values, torch::Tensor gradient, double rate) {
    const bool decoupled = options_.type == "adamw";
    if ((decoupled || options_.type == "adam") && HasFusedAdam(values, decoupled)) {
      ApplyInOneKernel(values, gradient, rate);
      return;
    }
    if (options_.WeightDecay() > 0 && !decoupled) {
      gradient = gradient + values * options_.WeightDecay();
    }
    if (options_.type == "sgd") {
      const torch::Tensor momentum = first_ * options_.momentum + gradient;
      Keep(values, values - momentum * rate);
      Keep(first_, momentum);
      return;
    }
    if (options_.type == "rmsprop") {
      const torch::Tensor square = second_ * options_.alpha + gradient.square() * (1 - options_.alpha);
      torch::Tensor divisor = square;
      if (options_.centered) {
        const torch::Tensor mean = third_ * options_.alpha + gradient * (1 - options_.alpha);
        // Rounding may make a variance of almost 0 negative.
        divisor = torch::clamp_min(square - mean.square(), 0);
        Keep(third_, mean);
      }
      const torch::Tensor update = first_ * options_.momentum + gradient / (divisor.sqrt() + options_.epsilon);
      Keep(values, values - update * rate);
      Keep(first_, update);
      Keep(second_, square);
      return;
    }
    const double power = static_cast<double>(steps_ + 1);
    const torch::Tensor mean = first_ * options_.beta1 + gradient * (1 - options_.beta1);
    const torch::Tensor square = second_ * options_.beta2 + gradient.square() * (1 - options_.beta2);
    const torch::Tensor divisor = options_.amsgrad ? torch::maximum(third_, square) : square;
    const torch::Tensor root = divisor.sqrt() / std::sqrt(1 - std::pow(options_.beta2, power)) + options_.epsilon;
    const torch::Tensor old = decoupled ? values * (1 - rate * options_.WeightDecay()) : values;
    Keep(values, old - mean / root * (rate / (1 - std::pow(options_.beta1, power))));
    Keep(first_, mean);
    Keep(second_, square);
    if (options_.amsgrad) {
      Keep(third_, divisor);
    }
  }

  void ApplyInOneKernel(const torch::Tensor& values, const torch::Tensor& gradient, double rate) {
    FusedAdamStep step;
    step.decoupled = options_.type == "adamw";
    step.values = values;
    step.gradient = gradient;
    step.mean = first_;
    step.square = second_;
    step.largest_square = third_;
    step.number =
        torch::full({}, static_cast<double>(steps_ + 1), torch::dtype(torch::kFloat32).device(values.device()));
    step.skip = healthy_.logical_not().to(torch::kFloat32);
    step.rate = rate;
    step.beta1 = options_.beta1;
    step.beta2 = options_.beta2;
    step.weight_decay = options_.WeightDecay();
    step.epsilon = options_.epsilon;
    FusedAdam(step);
  }

  // Takes the new state, unless the device finds a gradient that is not finite.
  void Keep(torch::Tensor state, const torch::Tensor& next) const { state.copy_(torch::where(healthy_, next, state)); }

  OptimizerOptions options_;
  int64_t steps_ = 0;
  torch::Tensor first_;    // The gradient's mean, or the momentum.
  torch::Tensor second_;   // The mean of its square.
  torch::Tensor third_;    // centered: the gradient's mean; amsgrad: the largest of second_ so far.
  torch::Tensor healthy_;  // True if every gradient so far was finite.
  torch::Tensor gradient_norm_;
};

}  // namespace

std::unique_ptr<Optimizer> NewCpuOptimizer(const OptimizerOptions& options, const torch::Tensor& values) {
  return std::make_unique<CpuOptimizer>(options, values);
}

std::unique_ptr<Optimizer> NewDeviceOptimizer(const OptimizerOptions& options, const torch::Tensor& values) {
  return std::make_unique<DeviceOptimizer>(options, values);
}

absl::StatusOr<std::unique_ptr<Optimizer>> NewOptimizer(const OptimizerOptions& options, const torch::Tensor& values) {
  WAGGLE_RETURN_IF_ERROR(Annotate(Check(options), "optimizer"));
  return CatchTorch("allocating an optimizer", [&] {
    const bool swept = values.is_cpu() && values.is_contiguous() &&
                       (values.scalar_type() == torch::kFloat32 || values.scalar_type() == torch::kFloat64);
    return swept ? NewCpuOptimizer(options, values) : NewDeviceOptimizer(options, values);
  });
}

}  // namespace waggle
