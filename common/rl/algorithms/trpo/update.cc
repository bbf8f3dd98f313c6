#include <cmath>

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/trpo/natural_gradient.h"
#include "common/rl/algorithms/trpo/trpo.h"
#include "common/rl/kit/return_scale.h"
#include "common/rl/kit/returns/advantages.h"
#include "common/rl/kit/unroll_steps.h"

namespace waggle {
namespace {

using torch::Tensor;

class Trpo : public Algorithm {
 public:
  Trpo(const TrpoOptions& options, Model* model)
      : options_(options), net_(model->net("actor_critic")), scale_(options.normalize_returns, model->device()) {}

  void Update(const Batches& batches, UpdateContext* context) override {
    const Unrolls u = UnrollsOf(batches, options_.discount);
    UnrollSteps steps(u);
    {
      const torch::NoGradGuard no_grad;
      const Tensor value = net_.Unroll(u.observation, u.first, u.core_state).value();
      const Tensor reward = scale_.Rewards(u, value, options_.lambda, context);
      const Advantages gae = GeneralizedAdvantages(reward, u.discount, value, u.last, options_.lambda);
      steps.columns = {
          {"advantage", options_.normalize_advantages ? Standardized(gae.advantage, u.counts) : gae.advantage},
          {"value_target", gae.value_target}};
    }
    StepPolicy(steps, context);
    for (int64_t step = 0; step < options_.value_steps; ++step) {
      const Tensor value = net_.Unroll(steps.observation, steps.first, steps.core_state).value();
      context->Descend(MaskedMean((value - steps.at("value_target")).square(), steps.counts), net_.group());
      context->Report("value_mean", value);
    }
  }

  void VisitState(StateVisitor* visitor) override { scale_.VisitState(visitor); }

 private:
  // The natural gradient step (appendix C) to a divergence of max_divergence, or the longest part of it that gains.
  void StepPolicy(const UnrollSteps& steps, UpdateContext* context) const {
    ParameterGroup* const group = net_.group();
    const Distribution policy = net_.Differentiable().Unroll(steps.observation, steps.first, steps.core_state).policy();
    const Distribution acted = Policy(steps);
    const Tensor gradient = context->Gradient(Gain(policy, acted, steps), group);
    if (!gradient.any().item<bool>()) {
      return;  // Nothing can be gained, or the loss was not finite.
    }
    const MatrixProduct fisher = options_.fisher == "fim"
                                     ? FisherByParameters(policy, steps.counts, group, context)
                                     : FisherByDivergence(policy, acted, steps.counts, group, context);
    const MatrixProduct damped = [&](const Tensor& vector) { return fisher(vector) + options_.damping * vector; };
    const Tensor direction =
        ConjugateGradients(damped, gradient, options_.conjugate_steps, options_.conjugate_residual);
    // Twice the divergence of a small step along it.
    const double curvature = context->Mean(direction.dot(damped(direction))).item<double>();
    if (curvature > 0) {
      SearchLine(direction * std::sqrt(2 * options_.max_divergence / curvature), acted, steps, context);
    }
  }

  // Takes the first of step, step / 2, step / 4, … whose policy gains and is within the trust region; otherwise none.
  void SearchLine(const Tensor& step, const Distribution& acted, const UnrollSteps& steps,
                  UpdateContext* context) const {
    ParameterGroup* const group = net_.group();
    const Tensor start = group->values().clone();
    Tensor outcome;
    for (int64_t i = 0; i < options_.backtracks; ++i) {
      context->Assign(start + step * std::pow(0.5, i), group);
      const Distribution moved = Policy(steps);
      outcome = context->Mean(
          torch::stack({Gain(moved, acted, steps), MaskedMean(moved.DivergenceFrom(acted), steps.counts)}));
      if (outcome[0].item<double>() > 0 && outcome[1].item<double>() <= options_.max_divergence) {
        context->Report("policy_gain", outcome[0]);
        context->Report("divergence", outcome[1]);
        context->Report("step_share", torch::full_like(outcome[0], std::pow(0.5, i)));
        return;
      }
    }
    context->Assign(start, group);
    context->Report("step_share", torch::zeros_like(outcome[0]));
  }

  // The present policy, a constant.
  Distribution Policy(const UnrollSteps& steps) const {
    const torch::NoGradGuard no_grad;
    return net_.Unroll(steps.observation, steps.first, steps.core_state).policy();
  }

  // (14): the advantages of the actions taken, weighed by how much likelier the policy makes them. 0 if it is `acted`.
  static Tensor Gain(const Distribution& policy, const Distribution& acted, const UnrollSteps& steps) {
    const Tensor log_ratio = policy.LogProb(steps.action) - acted.LogProb(steps.action);
    return MaskedMean(steps.at("advantage") * torch::where(steps.counts, log_ratio, 0.0).expm1(), steps.counts);
  }

  const TrpoOptions options_;
  Net& net_;
  ReturnScale scale_;
};

}  // namespace

AlgorithmImplementation trpo_implementation() {
  return Implement<Trpo, TrpoOptions>();
}

}  // namespace waggle
