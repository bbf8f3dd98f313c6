#include "common/rl/algorithms/actor_critic/step.h"

namespace waggle {

using torch::Tensor;

Tensor PolicyAdvantage(const ActorCriticOptions& options, const Tensor& advantage, const Tensor& counts) {
  const Tensor scaled = options.normalize_advantages ? Standardized(advantage, counts) : advantage;
  return options.advantage_clip.has_value() ? scaled.clamp(-*options.advantage_clip, *options.advantage_clip) : scaled;
}

ActorCriticStep::ActorCriticStep(const ActorCriticOptions& options, Model* model)
    : options_(options),
      net_(model->net("actor_critic")),
      entropy_(options.entropy, model),
      scale_(options.normalize_returns, model->device()) {}

ActorCriticStep::Pass ActorCriticStep::Forward(const Unrolls& unrolls, UpdateContext* context) {
  const Output out = net_.Unroll(unrolls.observation, unrolls.first, unrolls.core_state);
  Pass pass;
  pass.value = out.value();
  pass.estimates = Unrolls::Steps(out.values());
  pass.reward = scale_.Rewards(unrolls, pass.value, options_.lambda, context);
  const Distribution policy = out.policy();
  pass.log_prob = Unrolls::Steps(policy.LogProb(unrolls.action));
  pass.entropy = MaskedMean(Unrolls::Steps(policy.Entropy()), unrolls.counts);
  return pass;
}

void ActorCriticStep::Descend(const Unrolls& unrolls, const Pass& pass, const Advantages& advantages,
                              UpdateContext* context) {
  const Tensor advantage = PolicyAdvantage(options_, advantages.advantage, unrolls.counts);
  const Tensor value_error = SquaredError(pass.estimates, advantages.value_target);
  const Tensor loss = MaskedMean(options_.value_weight * value_error - advantage * pass.log_prob, unrolls.counts);
  entropy_.Descend(loss, pass.entropy, net_.group(), context);
  context->Report("value_mean", pass.value);
}

}  // namespace waggle
