// No test of its own: it is tested as what a2c computes.

#include "common/rl/actor_critic.h"

#include "common/rl/returns/advantages.h"

namespace waggle {

ActorCritic::ActorCritic(const ActorCriticOptions& options, Model* model)
    : options_(options),
      net_(model->net("actor_critic")),
      entropy_(options.entropy, model),
      scale_(options.normalize_returns, model->device()) {}

void ActorCritic::Update(const Batches& batches, UpdateContext* context) {
  const Unrolls u = UnrollsOf(batches, options_.discount);
  const Output out = net_.Unroll(u.observation, u.first, u.core_state);
  const torch::Tensor value = out.value();
  const torch::Tensor reward = scale_.Rewards(u, value, options_.lambda);
  const Advantages gae = GeneralizedAdvantages(reward, u.discount, value.detach(), u.last, options_.lambda);
  const torch::Tensor advantage = options_.normalize_advantages ? Standardized(gae.advantage, u.counts) : gae.advantage;
  const Distribution policy = out.policy();
  const torch::Tensor log_prob = Unrolls::Steps(policy.LogProb(u.action));
  const torch::Tensor entropy = MaskedMean(Unrolls::Steps(policy.Entropy()), u.counts);
  const torch::Tensor value_error = (Unrolls::Steps(value) - gae.value_target).square();
  const torch::Tensor loss = MaskedMean(options_.value_weight * value_error - advantage * log_prob, u.counts);
  context->Descend(loss - entropy_.Weight(*context, loss) * entropy, net_.group());
  entropy_.Learn(entropy, context);
  context->Report("entropy", entropy);
  context->Report("value_mean", value);
}

}  // namespace waggle
