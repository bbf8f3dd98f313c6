#include "common/rl/algorithms/sac/update.h"

#include "common/config/spec/joint_action.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/mixed_soft_actor_critic/policy.h"
#include "common/rl/kit/returns/advantages.h"
#include "common/rl/kit/returns/n_step_returns.h"
#include "common/rl/kit/returns/sequence_returns.h"

namespace waggle {

using torch::Tensor;

namespace {

std::unique_ptr<SoftPolicy> NewSoftPolicy(const SacOptions& options, Model* model) {
  const JointAction action = JointActionOf(model->environment());
  if (action.num_choosing() == 0) {
    return NewContinuousPolicy(options, &model->net("actor"));
  }
  return action.num_reals == 0 ? NewDiscretePolicy(options, &model->net("actor")) : NewMixedPolicy(options, model);
}

}  // namespace

Sac::Sac(const SacOptions& options, Model* model)
    : options_(options),
      actor_(model->net("actor")),
      critic_(model->net("critic")),
      temperature_(options, model),
      policy_(NewSoftPolicy(options, model)) {}

void Sac::Update(const Batches& batches, UpdateContext* context) {
  const double exponent = options_.ImportanceExponentAt(context->progress());
  const bool remembers = actor_.network().plan().state_size > 0 || critic_.network().plan().state_size > 0;
  if (remembers || options_.prior.needs_action_before()) {
    LearnSequences(batches, remembers ? options_.burn_in : 1, exponent, context);
  } else {
    LearnTransitions(batches, exponent, context);
  }
}

void Sac::LearnTransitions(const Batches& batches, double importance_exponent, UpdateContext* context) const {
  const Transitions t = TransitionsOf(batches, options_.discount, importance_exponent);
  SoftRows now{t.observation}, next{t.next_observation};
  Tensor rewards = t.n_step_return, bootstrap = t.bootstrap;
  if (rewards.dim() == 2) {  // The entropy's worth is one more dimension, which earns nothing by itself.
    const Tensor weights = context->reward_weights().to(rewards.scalar_type());
    now.reward_weights = next.reward_weights = torch::constant_pad_nd(weights, {0, 1}, 1);
    rewards = torch::constant_pad_nd(rewards, {0, 1}, 0);
    bootstrap = bootstrap.unsqueeze(-1).expand_as(rewards);
  }
  const Tensor target = Bootstrapped(rewards, bootstrap, SoftValue(next, context));
  const Tensor error = Learn(now, t.action, target, t.weight, {}, context);
  context->SetPriorities(error.abs().mean(0));
}

void Sac::LearnSequences(const Batches& batches, int64_t burn_in, double importance_exponent,
                         UpdateContext* context) const {
  const Sequences s = SequencesOf(batches, options_.discount, burn_in, importance_exponent);
  // The action before the first row is not known, and does not count: the row begins its episode, or is not learned.
  const Tensor before = torch::cat({torch::zeros_like(s.action.narrow(0, 0, 1)), Unrolls::Steps(s.action)});
  const SoftRows rows{s.observation, s.first, s.core_state, before};
  const Tensor target = SequenceReturns(s.reward, s.discount, SoftValue(rows, context), s.counts, options_.n_step);
  // The last row is only there for its observation.
  const Tensor learned = torch::cat({s.learned, torch::zeros_like(s.learned.narrow(0, 0, 1))});
  const Tensor error = Learn(rows, s.action, target, s.weight, learned, context);
  context->SetPriorities(MaxMeanPriority(error.abs().mean(0), learned, kLargestErrorShare));
}

// (5): the target is r + gamma^n (min_i Q'_i(s', a') + alpha H), with the present policy's next action.
Tensor Sac::SoftValue(const SoftRows& rows, UpdateContext* context) const {
  const torch::NoGradGuard no_grad;
  const SoftPolicy::Expected next = policy_->Expect(*critic_.target_network(), rows, context->noise());
  const Tensor paid = temperature_.Value(next.q) * next.entropy;
  if (!rows.reward_weights.defined()) {
    return next.q + paid;
  }
  const int64_t dimensions = next.q.size(-1) - 1;
  return torch::cat({next.q.narrow(-1, 0, dimensions), next.q.narrow(-1, dimensions, 1) + paid.unsqueeze(-1)}, -1);
}

// Numbers are of the paper's equations.
Tensor Sac::Learn(const SoftRows& rows, const Tensor& action, const Tensor& target, const Tensor& weight,
                  const Tensor& learned, UpdateContext* context) const {
  const Tensor taken = policy_->Taken(critic_.network(), rows, action);  // [members, ...].
  Tensor error = taken - target;
  if (learned.defined()) {
    error = torch::where(learned, error, torch::zeros({}, error.options()));
  }
  // The mean over the dimensions of a vector reward.
  const Tensor squared = rows.reward_weights.defined() ? error.square().mean(-1) : error.square();
  Tensor loss = MaskedMean(0.5 * weight * squared.sum(0), learned);
  if (const Tensor term = CriticTerm(rows, taken, context); term.defined()) {
    loss = loss + term;
  }
  if (context->Descend(loss, critic_.group())) {
    critic_.FollowTarget(options_.target_update_rate);
  }
  const Tensor alpha = temperature_.Value(target);
  // (7): the critics only pass the gradient on.
  const SoftPolicy::Expected now = policy_->Expect(critic_.network(), rows, context->noise());
  const Tensor q = rows.Total(now.q);
  context->Descend(-MaskedMean(weight * (q + alpha * now.entropy), learned), actor_.group());
  // (18), by the logarithm of the temperature.
  const Tensor entropy = MaskedMean(now.entropy, learned);
  temperature_.Learn(entropy, MaskedMean(now.target_entropy.expand_as(now.entropy), learned), context);
  policy_->LearnMore(now, learned, context);
  context->Report("q_mean", MaskedMean(q.detach(), learned));
  context->Report("entropy", entropy.detach());
  context->Report("temperature", alpha);
  return rows.Total(error.detach());
}

AlgorithmImplementation sac_implementation() {
  return ImplementWithPolicy<Sac, MixedActingPolicy, SacOptions>();
}

}  // namespace waggle
