#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/redq/redq.h"
#include "common/rl/algorithms/soft_actor_critic/temperature.h"
#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {
namespace {

using torch::Tensor;

class Redq : public Algorithm {
 public:
  Redq(const RedqOptions& options, Model* model)
      : options_(options), actor_(model->net("actor")), critic_(model->net("critic")), temperature_(options, model) {}

  // Algorithm 1 of the paper.
  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
    const Tensor alpha = temperature_.Value(t.n_step_return);
    Tensor target;
    {
      const torch::NoGradGuard no_grad;
      const SampledAction next = actor_(t.next_observation).policy().Sample(context->noise());
      const Tensor drawn = context->noise()->Permutation(options_.critics).narrow(0, 0, options_.target_critics);
      const Tensor q = critic_.target()(t.next_observation, next.action).value().index_select(0, drawn).amin(0);
      target = Bootstrapped(t.n_step_return, t.bootstrap, q - alpha * next.log_prob);
    }
    const Tensor error = critic_(t.observation, t.action).value() - target;  // [critics, rows].
    if (context->Descend((t.weight * error.square()).mean(1).sum(), critic_.group())) {
      critic_.FollowTarget(options_.target_update_rate);
    }
    context->SetPriorities(error.abs().mean(0));
    if (++updates_ % options_.policy_delay == 0) {
      const SampledAction now = actor_(t.observation).policy().Sample(context->noise());
      const Tensor q = critic_(t.observation, now.action).value().mean(0);
      context->Descend((t.weight * (alpha * now.log_prob - q)).mean(), actor_.group());
      temperature_.LearnReal(-now.log_prob, now.action, context);
      context->Report("q_mean", q);
      context->Report("entropy", -now.log_prob);
    }
    context->Report("temperature", alpha);
  }

  void VisitState(StateVisitor* visitor) override { visitor->Int("updates", &updates_); }

 private:
  const RedqOptions options_;
  Net& actor_;
  Net& critic_;
  const Temperature temperature_;
  int64_t updates_ = 0;
};

}  // namespace

AlgorithmImplementation redq_implementation() {
  return Implement<Redq, RedqOptions>();
}

}  // namespace waggle
