#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/nn/optimizer.h"

namespace waggle {
namespace {

// Steps from one look at whether the gradients were finite to the next; a look waits for the device.
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
  }

  absl::Status Step(const torch::Tensor& values, const torch::Tensor& gradients) override {
    torch::NoGradGuard no_grad;
    gradient_norm_ = gradients.norm();
    healthy_.logical_and_(torch::isfinite(gradient_norm_));
    torch::Tensor gradient = gradients;
    if (options_.gradient_clip_norm > 0) {
      gradient = gradient * torch::clamp_max(options_.gradient_clip_norm / (gradient_norm_ + 1e-6), 1);
    }
    Apply(values, gradient);
    ++steps_;
    if (steps_ % kCheckPeriod == 0 && !healthy_.item<bool>()) {
      return absl::InvalidArgumentError(absl::StrCat("the gradient of one of the steps ", steps_ - kCheckPeriod + 1,
                                                     " to ", steps_,
                                                     " is not finite; nothing was changed from that step on"));
    }
    return absl::OkStatus();
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
  void Apply(const torch::Tensor& values, torch::Tensor gradient) {
    const double rate = learning_rate();
    const bool decoupled = options_.type == "adamw";
    if (options_.weight_decay > 0 && !decoupled) {
      gradient = gradient + values * options_.weight_decay;
    }
    if (options_.type == "sgd") {
      const torch::Tensor momentum = first_ * options_.momentum + gradient;
      Keep(values, values - momentum * rate);
      Keep(first_, momentum);
      return;
    }
    if (options_.type == "rmsprop") {
      const torch::Tensor square = second_ * options_.alpha + gradient.square() * (1 - options_.alpha);
      const torch::Tensor update = first_ * options_.momentum + gradient / (square.sqrt() + options_.epsilon);
      Keep(values, values - update * rate);
      Keep(first_, update);
      Keep(second_, square);
      return;
    }
    const double power = static_cast<double>(steps_ + 1);
    const torch::Tensor mean = first_ * options_.beta1 + gradient * (1 - options_.beta1);
    const torch::Tensor square = second_ * options_.beta2 + gradient.square() * (1 - options_.beta2);
    const torch::Tensor root = square.sqrt() / std::sqrt(1 - std::pow(options_.beta2, power)) + options_.epsilon;
    const torch::Tensor old = decoupled ? values * (1 - rate * options_.weight_decay) : values;
    Keep(values, old - mean / root * (rate / (1 - std::pow(options_.beta1, power))));
    Keep(first_, mean);
    Keep(second_, square);
  }

  // Takes the new state, unless a gradient was not finite: decided on the device.
  void Keep(torch::Tensor state, const torch::Tensor& next) const { state.copy_(torch::where(healthy_, next, state)); }

  const OptimizerOptions options_;
  int64_t steps_ = 0;
  torch::Tensor first_;    // The gradient's mean, or the momentum.
  torch::Tensor second_;   // The mean of its square.
  torch::Tensor healthy_;  // Whether every gradient so far was finite.
  torch::Tensor gradient_norm_;
};

}  // namespace

std::unique_ptr<Optimizer> NewDeviceOptimizer(const OptimizerOptions& options, const torch::Tensor& values) {
  return std::make_unique<DeviceOptimizer>(options, values);
}

}  // namespace waggle
