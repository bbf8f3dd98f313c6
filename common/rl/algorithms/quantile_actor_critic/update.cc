#include "common/rl/algorithms/quantile_actor_critic/update.h"

#include "common/rl/kit/distributional.h"
#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {

using torch::Tensor;

QuantileActorCritic::QuantileActorCritic(const QuantileActorCriticOptions& options, Model* model)
    : options_(options), actor_(model->net("actor")), critic_(model->net("critic")), temperature_(options, model) {}

void QuantileActorCritic::Update(const Batches& batches, UpdateContext* context) {
  const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
  const Tensor alpha = temperature_.Value(t.n_step_return);
  // The target's quantiles: r + gamma^n (z - alpha ln pi) for each z that is taken.
  Tensor target;  // [rows, any number].
  {
    const torch::NoGradGuard no_grad;
    const SampledAction next = actor_(t.next_observation).policy().Sample(context->noise());
    const Tensor taken = Target(critic_.target()(t.next_observation, next.action).quantiles("value"));
    const Tensor soft = taken - (alpha * next.log_prob).unsqueeze(1);
    target = Bootstrapped(t.n_step_return, t.bootstrap, soft.t()).t();
  }
  const Tensor quantiles = Together(critic_(t.observation, t.action).quantiles("value"));
  const Tensor fractions = MiddleFractions(options_.quantiles, quantiles).repeat({options_.critics});
  const Tensor loss = QuantileLoss(quantiles, fractions, target) / static_cast<double>(options_.quantiles);
  if (context->Descend((t.weight * loss).mean(), critic_.group())) {
    critic_.FollowTarget(options_.target_update_rate);
  }
  const SampledAction now = actor_(t.observation).policy().Sample(context->noise());
  const Tensor q = Climbed(critic_(t.observation, now.action).quantiles("value")).mean(1);
  context->Descend((t.weight * (alpha * now.log_prob - q)).mean(), actor_.group());
  temperature_.LearnReal(-now.log_prob, now.action, context);
  context->SetPriorities((quantiles.mean(1) - target.mean(1)).abs());
  context->Report("q_mean", q);
  context->Report("entropy", -now.log_prob);
  context->Report("temperature", alpha);
}

}  // namespace waggle
