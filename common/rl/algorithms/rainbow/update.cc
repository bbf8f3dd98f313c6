#include "common/rl/algorithms/value_based/update.h"

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/rainbow/rainbow.h"
#include "common/rl/kit/distributional.h"
#include "common/rl/kit/q_learning.h"

namespace waggle {
namespace {

using torch::Tensor;

class Rainbow : public Algorithm {
 public:
  Rainbow(const RainbowOptions& options, Model* model)
      : options_(options), q_(model->net("q")), follower_(options, &q_) {}

  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
    const Output out = q_(t.observation);
    const Losses losses = options_.learns_distribution() ? OfAtoms(out, t) : OfValues(out, t);
    if (context->Descend(losses.loss, q_.group())) {
      follower_.Follow();
    }
    context->SetPriorities(losses.priorities);
    context->Report("q_mean", ValuesOfBest(out.q().detach(), out.q().detach()));
  }

  void VisitState(StateVisitor* visitor) override { follower_.VisitState(visitor); }

 private:
  struct Losses {
    Tensor loss, priorities;
  };

  // The values by which the next action is chosen, [rows, choices].
  Tensor Selector(const Transitions& t, const Output& next) const {
    return options_.double_selection ? q_(t.next_observation).q() : next.q();
  }

  // The cross entropy between the projected distribution of the next best action and that of the taken one. The
  // priority is their divergence, as in the paper.
  Losses OfAtoms(const Output& out, const Transitions& t) const {
    Tensor target;
    {
      const torch::NoGradGuard no_grad;
      const Output next = q_.target()(t.next_observation);
      const Tensor best = Selector(t, next).argmax(-1);
      target = ProjectedAtoms(AtChoices(next.atoms(), best).exp(), t.n_step_return, t.bootstrap, options_.low,
                              options_.high);
    }
    const Tensor loss = -(target * AtChoices(out.atoms(), t.action)).sum(-1);
    return {(t.weight * loss).mean(), (loss.detach() + target.xlogy(target).sum(-1)).clamp_min(0)};
  }

  Losses OfValues(const Output& out, const Transitions& t) const {
    Tensor target;
    {
      const torch::NoGradGuard no_grad;
      const Output next = q_.target()(t.next_observation);
      target = QLearningTargets(t.n_step_return, t.bootstrap, Selector(t, next), next.q());
    }
    const QLearningLossResult result = QLearningLoss(TdLoss::kHuber, out.q(), t.action, target, t.weight);
    return {result.loss, result.errors};
  }

  const RainbowOptions options_;
  Net& q_;
  TargetFollower follower_;
};

}  // namespace

AlgorithmImplementation rainbow_implementation() {
  return Implement<Rainbow, RainbowOptions>();
}

}  // namespace waggle
