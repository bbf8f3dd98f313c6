#include <algorithm>

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/ppo/ppo.h"
#include "common/rl/kit/entropy_bonus.h"
#include "common/rl/kit/return_scale.h"
#include "common/rl/kit/returns/advantages.h"
#include "common/rl/kit/unroll_steps.h"

namespace waggle {
namespace {

using torch::Tensor;

class Ppo : public Algorithm {
 public:
  Ppo(const PpoOptions& options, Model* model)
      : options_(options),
        net_(model->net("actor_critic")),
        entropy_(options.entropy, model),
        scale_(options.normalize_returns, model->device()) {}

  void Update(const Batches& batches, UpdateContext* context) override {
    const UnrollSteps all = Prepare(UnrollsOf(batches, options_.discount));
    const int64_t rows = all.counts.size(1);
    const int64_t parts = std::min(options_.minibatches, rows);  // A batch leaves out old items.
    for (int64_t epoch = 0; epoch < options_.epochs; ++epoch) {
      for (const Tensor& chosen : context->noise()->Permutation(rows).tensor_split(parts)) {
        if (!Learn(all.Select(chosen), context)) {
          return;
        }
      }
    }
  }

  void VisitState(StateVisitor* visitor) override { scale_.VisitState(visitor); }

 private:
  // Values and advantages are by the weights before the first pass.
  UnrollSteps Prepare(const Unrolls& u) {
    const torch::NoGradGuard no_grad;
    const Tensor value = net_.Unroll(u.observation, u.first, u.core_state).value();
    const Tensor reward = scale_.Rewards(u, value, options_.lambda);
    const Advantages gae = GeneralizedAdvantages(reward, u.discount, value, u.last, options_.lambda);
    UnrollSteps steps(u);
    steps.columns = {{"log_prob", u.Column("log_prob")},
                     {"value", Unrolls::Steps(value)},
                     {"advantage", gae.advantage},
                     {"value_target", gae.value_target}};
    // A policy with memory learns from whole unrolls.
    return u.core_state.defined() ? steps : steps.Flattened();
  }

  // One step on a minibatch. False if the policy is too far from the acting one.
  bool Learn(const UnrollSteps& s, UpdateContext* context) const {
    const double clip = options_.clip.At(context->progress());
    const Output out = net_.Unroll(s.observation, s.first, s.core_state);
    const Distribution policy = out.policy();
    const Tensor log_ratio = torch::where(s.counts, policy.LogProb(s.action) - s.at("log_prob"), 0.0);
    const Tensor ratio = log_ratio.exp();
    // A non-negative estimate of KL(acted || now) (Schulman, "Approximating KL divergence", 2020).
    const Tensor divergence = MaskedMean((ratio - 1 - log_ratio).detach(), s.counts);
    context->Report("divergence", divergence);
    if (options_.max_divergence.has_value() && divergence.item<double>() > *options_.max_divergence) {
      return false;
    }
    // (7): the smaller one, so that moves outside of the clip gain nothing.
    const Tensor advantage =
        options_.normalize_advantages ? Standardized(s.at("advantage"), s.counts) : s.at("advantage");
    const Tensor surrogate = torch::min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage);
    const Tensor entropy = MaskedMean(policy.Entropy(), s.counts);
    const Tensor loss = MaskedMean(options_.value_weight * ValueLoss(out.value(), s) - surrogate, s.counts);
    entropy_.Descend(loss, entropy, net_.group(), context);
    context->Report("clip_fraction", MaskedMean(((ratio - 1).abs() > clip).to(ratio.scalar_type()), s.counts));
    return context->status().ok();
  }

  Tensor ValueLoss(const Tensor& value, const UnrollSteps& s) const {
    const Tensor error = (value - s.at("value_target")).square();
    if (!options_.value_clip.has_value()) {
      return error;
    }
    const Tensor before = s.at("value");
    const Tensor clipped = before + (value - before).clamp(-*options_.value_clip, *options_.value_clip);
    return torch::max(error, (clipped - s.at("value_target")).square());
  }

  const PpoOptions options_;
  Net& net_;
  const EntropyBonus entropy_;
  ReturnScale scale_;
};

}  // namespace

AlgorithmImplementation ppo_implementation() {
  return Implement<Ppo, PpoOptions>();
}

}  // namespace waggle
