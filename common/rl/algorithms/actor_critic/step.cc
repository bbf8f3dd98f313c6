#include "common/rl/algorithms/actor_critic/step.h"

namespace waggle {

using torch::Tensor;

ActorCriticStep::ActorCriticStep(const ActorCriticOptions& options, Model* model)
    : options_(options),
      net_(model->net("actor_critic")),
      entropy_(options.entropy, model),
      scale_(options.normalize_returns, model->device()) {}

ActorCriticStep::Pass ActorCriticStep::Forward(const Unrolls& unrolls) {
  const Output out = net_.Unroll(unrolls.observation, unrolls.first, unrolls.core_state);
  Pass pass;
  pass.value = out.value();
  pass.reward = scale_.Rewards(unrolls, pass.value, options_.lambda);
  const Distribution policy = out.policy();
  pass.log_prob = Unrolls::Steps(policy.LogProb(unrolls.action));
  pass.entropy = MaskedMean(Unrolls::Steps(policy.Entropy()), unrolls.counts);
  return pass;
}

void ActorCriticStep::Descend(const Unrolls& unrolls, const Pass& pass, const Advantages& advantages,
                              UpdateContext* context) const {
  const Tensor advantage =
      options_.normalize_advantages ? Standardized(advantages.advantage, unrolls.counts) : advantages.advantage;
  const Tensor value_error = (Unrolls::Steps(pass.value) - advantages.value_target).square();
  const Tensor loss = MaskedMean(options_.value_weight * value_error - advantage * pass.log_prob, unrolls.counts);
  entropy_.Descend(loss, pass.entropy, net_.group(), context);
  context->Report("value_mean", pass.value);
}

}  // namespace waggle
