#include "common/rl/algorithms/value_based/update.h"

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/qr_dqn/qr_dqn.h"
#include "common/rl/kit/distributional.h"
#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {
namespace {

using torch::Tensor;

class QrDqn : public Algorithm {
 public:
  QrDqn(const QrDqnOptions& options, Model* model) : options_(options), q_(model->net("q")), follower_(options, &q_) {}

  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
    Tensor target;  // [rows, quantiles].
    {
      const torch::NoGradGuard no_grad;
      const Output next = q_.target()(t.next_observation);
      const Tensor selector = options_.double_selection ? q_(t.next_observation).q() : next.q();
      const Tensor quantiles = AtChoices(next.quantiles(), selector.argmax(-1));
      target = Bootstrapped(t.n_step_return, t.bootstrap, quantiles.t()).t();
    }
    const Tensor quantiles = AtChoices(q_(t.observation).quantiles(), t.action);
    const Tensor loss =
        QuantileLoss(quantiles, MiddleFractions(options_.quantiles, quantiles), target, options_.huber_threshold);
    if (context->Descend((t.weight * loss).mean(), q_.group())) {
      follower_.Follow();
    }
    context->SetPriorities((target.mean(1) - quantiles.mean(1)).abs());
    context->Report("q_mean", quantiles);
  }

  void VisitState(StateVisitor* visitor) override { follower_.VisitState(visitor); }

 private:
  const QrDqnOptions options_;
  Net& q_;
  TargetFollower follower_;
};

}  // namespace

AlgorithmImplementation qr_dqn_implementation() {
  return Implement<QrDqn, QrDqnOptions>();
}

}  // namespace waggle
