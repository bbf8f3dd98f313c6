#include <vector>

#include "common/rl/algorithms/crossq/crossq.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/soft_actor_critic/temperature.h"
#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {
namespace {

using torch::Tensor;

// The next observations. A terminal state has no value, and must not be in a batch's statistics: the state before it is
// in its place.
Observations NextOf(const Transitions& transitions) {
  Observations next;
  for (size_t i = 0; i < transitions.observation.size(); ++i) {
    const Tensor& from = transitions.observation[i];
    std::vector<int64_t> rows(static_cast<size_t>(from.dim()), 1);
    rows[0] = from.size(0);
    next.push_back(torch::where((transitions.bootstrap == 0).view(rows), from, transitions.next_observation[i]));
  }
  return next;
}

// [2, rows, …] a leaf.
Observations Both(const Observations& from, const Observations& to) {
  Observations both;
  for (size_t i = 0; i < from.size(); ++i) {
    both.push_back(torch::stack({from[i], to[i]}));
  }
  return both;
}

class Crossq : public Algorithm {
 public:
  Crossq(const CrossqOptions& options, Model* model)
      : options_(options), actor_(model->net("actor")), critic_(model->net("critic")), temperature_(options, model) {}

  // Figure 2 of the paper.
  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
    const Tensor alpha = temperature_.Value(t.n_step_return);
    const Observations next_observation = NextOf(t);
    SampledAction next;
    {
      const torch::NoGradGuard no_grad;
      next = actor_(next_observation).policy().Sample(context->noise());
    }
    // One batch of both ends: (s, a) and (s', a') are distributed differently, and their mixture normalises both.
    const Tensor q =
        critic_.Training()(Both(t.observation, next_observation), torch::stack({t.action, next.action})).value();
    const Tensor soft = q.select(1, 1).detach().amin(0) - alpha * next.log_prob;
    const Tensor error = q.select(1, 0) - Bootstrapped(t.n_step_return, t.bootstrap, soft);  // [critics, rows].
    if (context->Descend(0.5 * (t.weight * error.square()).mean(1).sum(), critic_.group())) {
      critic_.FollowBatch();
    }
    context->SetPriorities(error.abs().mean(0));
    if (++updates_ % options_.policy_delay == 0) {
      const SampledAction now = actor_.Training()(t.observation).policy().Sample(context->noise());
      const Tensor climbed = critic_(t.observation, now.action).value().amin(0);
      if (context->Descend((t.weight * (alpha * now.log_prob - climbed)).mean(), actor_.group())) {
        actor_.FollowBatch();
      }
      temperature_.LearnReal(-now.log_prob, now.action, context);
      context->Report("q_mean", climbed);
      context->Report("entropy", -now.log_prob);
    }
    context->Report("temperature", alpha);
  }

  void VisitState(StateVisitor* visitor) override { visitor->Int("updates", &updates_); }

 private:
  const CrossqOptions options_;
  Net& actor_;
  Net& critic_;
  const Temperature temperature_;
  int64_t updates_ = 0;
};

}  // namespace

AlgorithmImplementation crossq_implementation() {
  return Implement<Crossq, CrossqOptions>();
}

}  // namespace waggle
