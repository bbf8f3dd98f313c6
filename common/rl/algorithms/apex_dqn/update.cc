#include "common/rl/algorithms/value_based/update.h"

#include "common/rl/algorithms/apex_dqn/apex_dqn.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/kit/q_learning.h"

namespace waggle {
namespace {

class ApexDqn : public Algorithm {
 public:
  ApexDqn(const ApexDqnOptions& options, Model* model)
      : options_(options),
        loss_(options.loss == "mse" ? TdLoss::kMse : TdLoss::kHuber),
        q_(model->net("q")),
        follower_(options, &q_) {}

  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
    torch::Tensor target;
    {
      const torch::NoGradGuard no_grad;
      const torch::Tensor value = q_.target()(t.next_observation).q();
      const torch::Tensor selector = options_.mode == "double" ? q_(t.next_observation).q() : value;
      target = QLearningTargets(t.n_step_return, t.bootstrap, selector, value);
    }
    const QLearningLossResult loss = QLearningLoss(loss_, q_(t.observation).q(), t.action, target, t.weight);
    if (context->Descend(loss.loss, q_.group())) {
      follower_.Follow();
    }
    context->SetPriorities(loss.errors);
    context->Report("q_mean", loss.q_mean);
  }

  void VisitState(StateVisitor* visitor) override { follower_.VisitState(visitor); }

 private:
  const ApexDqnOptions options_;
  const TdLoss loss_;
  Net& q_;
  TargetFollower follower_;
};

}  // namespace

AlgorithmImplementation apex_dqn_implementation() {
  return Implement<ApexDqn, ApexDqnOptions>();
}

}  // namespace waggle
