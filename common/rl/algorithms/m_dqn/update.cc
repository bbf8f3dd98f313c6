#include "common/rl/algorithms/value_based/update.h"

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/m_dqn/m_dqn.h"
#include "common/rl/kit/q_learning.h"
#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {
namespace {

using torch::Tensor;

class MDqn : public Algorithm {
 public:
  MDqn(const MDqnOptions& options, Model* model) : options_(options), q_(model->net("q")), follower_(options, &q_) {}

  // y = r + w [t ln pi(a|s)] + gamma sum over a' of pi(a'|s') (Q'(s', a') - t ln pi(a'|s')), pi = softmax(Q' / t), with
  // the bracket in [lowest_logarithm, 0].
  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
    Tensor target;
    {
      const torch::NoGradGuard no_grad;
      const Tensor own = ValuesOfChoices(ScaledLogarithms(q_.target()(t.observation).q()), t.action)
                             .clamp(options_.lowest_logarithm, 0);
      const Tensor next = q_.target()(t.next_observation).q();
      const Tensor logarithms = ScaledLogarithms(next);
      const Tensor value = ((logarithms / options_.temperature).exp() * (next - logarithms)).sum(-1);
      target = Bootstrapped(t.n_step_return + options_.munchausen_weight * own, t.bootstrap, value);
    }
    const QLearningLossResult loss = QLearningLoss(TdLoss::kHuber, q_(t.observation).q(), t.action, target, t.weight);
    if (context->Descend(loss.loss, q_.group())) {
      follower_.Follow();
    }
    context->SetPriorities(loss.errors);
    context->Report("q_mean", loss.q_mean);
  }

  void VisitState(StateVisitor* visitor) override { follower_.VisitState(visitor); }

 private:
  // t ln softmax(q / t).
  Tensor ScaledLogarithms(const Tensor& q) const {
    return options_.temperature * (q / options_.temperature).log_softmax(-1);
  }

  const MDqnOptions options_;
  Net& q_;
  TargetFollower follower_;
};

}  // namespace

AlgorithmImplementation m_dqn_implementation() {
  return Implement<MDqn, MDqnOptions>();
}

}  // namespace waggle
