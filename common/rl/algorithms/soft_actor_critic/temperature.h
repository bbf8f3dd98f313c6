#pragma once

#include <string>

#include "common/rl/algorithms/soft_actor_critic/definition.h"
#include "common/rl/kit/algorithm_policy.h"
#include "common/rl/kit/distribution.h"
#include "common/rl/kit/model.h"
#include "common/rl/kit/update_context.h"

namespace waggle {

// The worth of a nat of a policy's entropy, fixed or learned (arXiv 1812.05905, section 5). May throw as LibTorch does.
class Temperature {
 public:
  // The model must be of a SoftActorCriticPlan of these options, and outlive it. `scalar` is the learned logarithm.
  Temperature(const SoftActorCriticOptions& options, Model* model, const std::string& scalar = "log_temperature")
      : options_(options), scalar_(options.learn_temperature ? model->scalar(scalar) : nullptr) {}

  // Bounds of a learned logarithm, so that a target that no policy reaches gives no infinity.
  static constexpr double kMostLogarithm = 20;
  static torch::Tensor OfLogarithm(const torch::Tensor& logarithm) {
    return logarithm.clamp(-kMostLogarithm, kMostLogarithm).exp();
  }

  // By which a policy acts: that of the published logarithm if it is learned, otherwise `fixed`. Without dimensions.
  static torch::Tensor Acting(const SoftActorCriticOptions& options, double fixed, const ActingNets& nets,
                              const std::string& logarithm, const torch::Tensor& like) {
    return options.learn_temperature ? OfLogarithm(nets.scalar(logarithm)) : torch::full({}, fixed, like.options());
  }

  // The present one, a constant without dimensions, of the type and device of `like`.
  torch::Tensor Value(const torch::Tensor& like) const {
    return scalar_ != nullptr ? OfLogarithm(scalar_->value().detach())
                              : torch::full({}, options_.temperature, like.options());
  }

  // Steps a learned temperature: it grows while the entropy is below its target. Both are [rows] or without dimensions.
  void Learn(const torch::Tensor& entropy, const torch::Tensor& target_entropy, UpdateContext* context) const {
    if (scalar_ != nullptr) {
      context->Descend((scalar_->value() * (entropy.detach() - target_entropy)).mean(), scalar_->group());
    }
  }
  // The same with the target of the options, for real actions like `action`, [rows, elements].
  void LearnReal(const torch::Tensor& entropy, const torch::Tensor& action, UpdateContext* context) const {
    Learn(entropy,
          torch::full({}, options_.target_entropy.value_or(static_cast<double>(-action.size(-1))), entropy.options()),
          context);
  }

 private:
  const SoftActorCriticOptions options_;
  Scalar* const scalar_;  // Null if it is fixed.
};

}  // namespace waggle
