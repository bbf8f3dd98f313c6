#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/iql/iql.h"
#include "common/rl/kit/algorithm.h"
#include "common/rl/kit/q_learning.h"
#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {
namespace {

using torch::Tensor;

class Iql : public Algorithm {
 public:
  Iql(const IqlOptions& options, Model* model)
      : options_(options), actor_(model->net("actor")), critic_(model->net("critic")), value_(model->net("value")) {}

  // Numbers are of the paper's equations.
  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
    Tensor q, next;
    {
      const torch::NoGradGuard no_grad;
      q = Taken(critic_.target(), t).amin(0);
      next = value_(t.next_observation).value();
    }
    // (5): the value is an expectile of the recorded actions' values.
    const Tensor advantage = q - value_(t.observation).value();
    const Tensor side = torch::where(advantage < 0, 1 - options_.expectile, options_.expectile);
    context->Descend((t.weight * side * advantage.square()).mean(), value_.group());
    // (7): the policy imitates actions, the more the larger their advantage.
    const Tensor share = (advantage.detach() / options_.temperature).exp().clamp_max(options_.max_advantage_weight);
    const Tensor log_prob = actor_(t.observation).policy().LogProb(t.action);
    context->Descend(-(t.weight * share * log_prob).mean(), actor_.group());
    // (6): the next state's value is of recorded actions too.
    const Tensor error = Taken(NetView(&critic_.network()), t) - Bootstrapped(t.n_step_return, t.bootstrap, next);
    if (context->Descend((t.weight * error.square().sum(0)).mean(), critic_.group())) {
      critic_.FollowTarget(options_.target_update_rate);
    }
    context->SetPriorities(error.abs().mean(0));
    context->Report("q_mean", q);
    context->Report("advantage_weight", share);
  }

 private:
  // Critics' values of the recorded actions, [members, rows].
  static Tensor Taken(const NetView& critic, const Transitions& t) {
    if (critic.plan().takes_action) {
      return critic(t.observation, t.action).value();
    }
    const Tensor q = critic(t.observation).q();
    return ValuesOfChoices(q, t.action.expand_as(q.select(-1, 0)));
  }

  const IqlOptions options_;
  Net& actor_;
  Net& critic_;
  Net& value_;
};

}  // namespace

AlgorithmImplementation iql_implementation() {
  return Implement<Iql, IqlOptions>();
}

}  // namespace waggle
