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

Output Judged(const NetView& critic, const Observations& observation, const Tensor& action) {
  return critic.plan().takes_action ? critic(observation, action) : critic(observation, {}, {action});
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
    StepActor(t, critics_stepped, context);
  }
}

DeterministicActorCritic::CriticLoss DeterministicActorCritic::Criticize(const Transitions& t, const Tensor& taken,
                                                                         const Tensor& next) const {
  Tensor target;
  {
    const torch::NoGradGuard no_grad;
    const Tensor q = Judged(critic_.target(), t.next_observation, next).value().amin(0);
    target = Bootstrapped(t.n_step_return, t.bootstrap, q);
  }
  const Tensor error = Judged(NetView(&critic_.network()), t.observation, taken).value() - target;  // [members, rows].
  return {ErrorLoss(error).sum(0), error.detach().abs().mean(0)};
}

void DeterministicActorCritic::StepActor(const Transitions& t, bool critics_stepped, UpdateContext* context) {
  const Tensor action = ActionOf(actor_(t.observation));
  Tensor judged = action;
  if (options_.action_gradient_clip.has_value()) {
    // The gradient of a row is its share of the mean.
    const Tensor share = t.weight.unsqueeze(1) / static_cast<double>(t.weight.numel());
    judged = WithGradientWithin(action, share * *options_.action_gradient_clip);
  }
  const Tensor q = Value(Judged(NetView(&critic_.network()), t.observation, judged));
  const Tensor penalty = options_.action_penalty * action.square().sum(-1);
  if (context->Descend((t.weight * (penalty - q)).mean(), actor_.group()) && critics_stepped) {
    actor_.FollowTarget(options_.target_update_rate);
    critic_.FollowTarget(options_.target_update_rate);
  }
  context->Report("q_mean", q);
}

}  // namespace waggle
