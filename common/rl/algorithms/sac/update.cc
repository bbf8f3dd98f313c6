#include "common/rl/algorithms/sac/update.h"

#include "common/rl/algorithms/implementations.h"
#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {

Sac::Sac(const SacOptions& options, Model* model)
    : options_(options),
      actor_(model->net("actor")),
      critic_(model->net("critic")),
      temperature_(options, model),
      policy_(model->environment().actions[0].kind == SpaceKind::kDiscrete ? NewDiscretePolicy(options, &actor_)
                                                                           : NewContinuousPolicy(options, &actor_)) {}

// Numbers are of the paper's equations.
void Sac::Update(const Batches& batches, UpdateContext* context) {
  const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
  const torch::Tensor alpha = temperature_.Value(t.n_step_return);
  // (5): the target is r + gamma^n (min_i Q'_i(s', a') + alpha H), with the present policy's next action.
  torch::Tensor target;
  {
    const torch::NoGradGuard no_grad;
    const SoftPolicy::Expected next = policy_->Expect(*critic_.target_network(), t.next_observation, context->noise());
    target = Bootstrapped(t.n_step_return, t.bootstrap, next.q + alpha * next.entropy);
  }
  const torch::Tensor error = policy_->Taken(critic_.network(), t) - target;  // [members, rows].
  if (context->Descend(0.5 * (t.weight * error.square()).mean(1).sum(), critic_.group())) {
    critic_.FollowTarget(options_.target_update_rate);
  }
  // (7): the critics only pass the gradient on.
  const SoftPolicy::Expected now = policy_->Expect(critic_.network(), t.observation, context->noise());
  context->Descend(-(t.weight * (now.q + alpha * now.entropy)).mean(), actor_.group());
  // (18), by the logarithm of the temperature.
  temperature_.Learn(now.entropy, now.target_entropy, context);
  context->SetPriorities(error.abs().mean(0));
  context->Report("q_mean", now.q);
  context->Report("entropy", now.entropy);
  context->Report("temperature", alpha);
}

AlgorithmImplementation sac_implementation() {
  return Implement<Sac, SacOptions>();
}

}  // namespace waggle
