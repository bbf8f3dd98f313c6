#include "common/rl/algorithms/deterministic_actor_critic/update.h"

#include <limits>

#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {

using torch::Tensor;

Tensor ActionOf(const Output& actor) {
  return actor.plan().heads[0].kind == HeadKind::kDeterministic ? actor.action()
                                                                : actor.policy().LogProbabilities().exp();
}

Tensor TakenActions(const Tensor& action, const JointAction& joint) {
  if (action.is_floating_point()) {
    return action;
  }
  const int64_t choices = joint.TotalChoices();
  const Tensor known = action.clamp(0, choices - 1);
  const Tensor one_hot = torch::zeros({action.size(0), choices}, action.options().dtype(torch::kFloat32))
                             .scatter_(1, known.unsqueeze(-1), 1);
  return one_hot.masked_fill((known != action).unsqueeze(-1), std::numeric_limits<double>::quiet_NaN());
}

Tensor ValuesOf(const NetView& critic, const Observations& observation, const Tensor& action) {
  if (critic.plan().takes_action) {
    return critic(observation, action).value();
  }
  return (critic(observation).vector("value") * action).sum(-1);
}

Tensor SquaresOf(const Output& actor) {
  if (actor.plan().heads[0].kind == HeadKind::kDeterministic) {
    return actor.action().square().sum(-1);
  }
  // Logarithms of probabilities are logits less some number.
  const Tensor logits = actor.policy().LogProbabilities();
  const Tensor legal = (actor.mask().defined() ? Legal(actor.mask()) : torch::ones_like(logits)).to(logits.dtype());
  const Tensor mean = (logits * legal).sum(-1, /*keepdim=*/true) / legal.sum(-1, /*keepdim=*/true);
  return ((logits - mean) * legal).square().sum(-1);
}

Tensor WithGradientWithin(const Tensor& x, const Tensor& bound) {
  Tensor same = x.clone();
  same.register_hook([bound](const Tensor& gradient) { return torch::max(torch::min(gradient, bound), -bound); });
  return same;
}

DeterministicActorCritic::DeterministicActorCritic(const DeterministicActorCriticOptions& options, Model* model)
    : options_(options), actor_(model->net("actor")), critic_(model->net("critic")) {}

void DeterministicActorCritic::Update(const Batches& batches, UpdateContext* context) {
  const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
  const Tensor taken = TakenActions(t.action, critic_.network().plan().action).to(t.n_step_return.scalar_type());
  Tensor next;
  {
    const torch::NoGradGuard no_grad;
    next = NextAction(ActionOf(actor_.target()(t.next_observation)), context->noise());
  }
  const CriticLoss critic = Criticize(t, taken, next);
  const bool critics_stepped = context->Descend((t.weight * critic.loss).mean(), critic_.group());
  context->SetPriorities(critic.priority);
  if (ActorSteps()) {
    StepActor(t, taken, critics_stepped, context);
  }
}

DeterministicActorCritic::CriticLoss DeterministicActorCritic::Criticize(const Transitions& t, const Tensor& taken,
                                                                         const Tensor& next) const {
  Tensor target;
  {
    const torch::NoGradGuard no_grad;
    const Tensor q = ValuesOf(critic_.target(), t.next_observation, next).amin(0);
    target = Bootstrapped(t.n_step_return, t.bootstrap, q);
  }
  const Tensor error = ValuesOf(NetView(&critic_.network()), t.observation, taken) - target;  // [members, rows].
  return {ErrorLoss(error).sum(0), error.detach().abs().mean(0)};
}

Tensor DeterministicActorCritic::Value(const Observations& observation, const Tensor& action) const {
  return ValuesOf(NetView(&critic_.network()), observation, action).amin(0);
}

void DeterministicActorCritic::StepActor(const Transitions& t, const Tensor& taken, bool critics_stepped,
                                         UpdateContext* context) {
  const Output actor = actor_(t.observation);
  Tensor action = ActionOf(actor);
  if (options_.action_gradient_clip.has_value()) {
    // The gradient of a row is its share of the mean.
    const Tensor share = t.weight.unsqueeze(1) / static_cast<double>(t.weight.numel());
    action = WithGradientWithin(action, share * *options_.action_gradient_clip);
  }
  const Tensor q = Value(t.observation, action);
  const Tensor penalty = options_.ActionPenalty(!critic_.network().plan().takes_action) * SquaresOf(actor);
  if (context->Descend((t.weight * (penalty + ActorLoss(t, q, action, taken))).mean(), actor_.group()) &&
      critics_stepped) {
    actor_.FollowTarget(options_.target_update_rate);
    critic_.FollowTarget(options_.target_update_rate);
  }
  context->Report("q_mean", q);
}

}  // namespace waggle
