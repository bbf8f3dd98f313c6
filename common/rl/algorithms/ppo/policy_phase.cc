#include "common/rl/algorithms/ppo/policy_phase.h"

#include <algorithm>

#include "common/rl/algorithms/actor_critic/step.h"
#include "common/rl/kit/returns/advantages.h"

namespace waggle {

using torch::Tensor;

PolicyPhase::PolicyPhase(const PpoOptions& options, const std::string& policy, const std::string& value, Model* model)
    : options_(options),
      net_(model->net(policy)),
      value_net_(model->net(value)),
      entropy_(options.entropy, model),
      scale_(options.normalize_returns, model->device()) {}

UnrollSteps PolicyPhase::Run(const Unrolls& unrolls, UpdateContext* context) {
  UnrollSteps all = Prepare(unrolls, context);
  const int64_t rows = all.counts.size(1);
  const int64_t parts = std::min(options_.minibatches, rows);  // A batch leaves out old items.
  for (int64_t epoch = 0; epoch < options_.epochs; ++epoch) {
    for (const Tensor& chosen : context->noise()->Permutation(rows).tensor_split(parts)) {
      if (!Learn(all.Select(chosen), context)) {
        return all;
      }
    }
  }
  return all;
}

// Values and advantages are by the weights before the first pass.
UnrollSteps PolicyPhase::Prepare(const Unrolls& u, UpdateContext* context) {
  const torch::NoGradGuard no_grad;
  const Output out = value_net_.Unroll(u.observation, u.first, u.core_state);
  const Tensor value = out.value();
  const Tensor reward = scale_.Rewards(u, value, options_.lambda, context);
  const Advantages gae = GeneralizedAdvantages(reward, u.discount, value, u.last, options_.lambda);
  UnrollSteps steps(u);
  steps.columns = {{"log_prob", u.Column("log_prob")},
                   {"estimates", Unrolls::Steps(out.values())},
                   {"advantage", gae.advantage},
                   {"value_target", gae.value_target}};
  // A policy with memory learns from whole unrolls.
  return u.core_state.defined() ? steps : steps.Flattened();
}

// One step on a minibatch. False if the policy is too far from the acting one.
bool PolicyPhase::Learn(const UnrollSteps& s, UpdateContext* context) {
  const double clip = options_.clip.At(context->progress());
  const Output out = net_.Unroll(s.observation, s.first, s.core_state);
  const Distribution policy = out.policy();
  const Tensor log_ratio = torch::where(s.counts, policy.LogProb(s.action) - s.at("log_prob"), 0.0);
  const Tensor ratio = log_ratio.exp();
  // A non-negative estimate of KL(acted || now) (Schulman, "Approximating KL divergence", 2020).
  const Tensor divergence = MaskedMean((ratio - 1 - log_ratio).detach(), s.counts);
  context->Report("divergence", divergence);
  if (options_.max_divergence.has_value() && context->Mean(divergence).item<double>() > *options_.max_divergence) {
    return false;
  }
  // (7): the smaller one, so that moves outside of the clip gain nothing.
  const Tensor advantage = PolicyAdvantage(options_, s.at("advantage"), s.counts);
  const Tensor surrogate = torch::min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage);
  const Tensor entropy = MaskedMean(policy.Entropy(), s.counts);
  const bool shares = &net_ == &value_net_;
  const Tensor estimates = (shares ? out : value_net_(s.observation)).values();
  const Tensor value_loss = options_.value_weight * ValueLoss(estimates, s);
  entropy_.Descend(MaskedMean(shares ? value_loss - surrogate : -surrogate, s.counts), entropy, net_.group(), context);
  if (!shares) {
    context->Descend(MaskedMean(value_loss, s.counts), value_net_.group());
  }
  context->Report("clip_fraction", MaskedMean(((ratio - 1).abs() > clip).to(ratio.scalar_type()), s.counts));
  return context->status().ok();
}

Tensor PolicyPhase::ValueLoss(const Tensor& estimates, const UnrollSteps& s) const {
  if (!options_.value_clip.has_value()) {
    return SquaredError(estimates, s.at("value_target"));
  }
  const Tensor target = s.at("value_target").unsqueeze(-1);
  const Tensor& before = s.at("estimates");
  const Tensor clipped = before + (estimates - before).clamp(-*options_.value_clip, *options_.value_clip);
  return torch::max((estimates - target).square(), (clipped - target).square()).mean(-1);
}

}  // namespace waggle
