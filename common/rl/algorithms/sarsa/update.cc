#include "common/rl/algorithms/value_based/update.h"

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/sarsa/sarsa.h"
#include "common/rl/kit/q_learning.h"
#include "common/rl/kit/returns/advantages.h"
#include "common/rl/kit/returns/sequence_returns.h"

namespace waggle {
namespace {

using torch::Tensor;

class Sarsa : public Algorithm {
 public:
  Sarsa(const SarsaOptions& options, Model* model) : options_(options), q_(model->net("q")), follower_(options, &q_) {}

  // y_t = r_t + gamma ((1 - lambda) Q'(s_{t+1}, a_{t+1}) + lambda y_{t+1}).
  void Update(const Batches& batches, UpdateContext* context) override {
    const Sequences s =
        SequencesOf(batches, options_.discount, /*burn_in=*/0, options_.ImportanceExponentAt(context->progress()));
    const Tensor taken = Unrolls::Steps(ValuesOfChoices(q_.Unroll(s.observation, s.first, s.core_state).q(), s.action));
    const Tensor target = Returns(s);
    const Tensor loss = torch::huber_loss(taken, target, torch::Reduction::None);
    if (context->Descend(MaskedMean(s.weight * loss, s.counts), q_.group())) {
      follower_.Follow();
    }
    context->SetPriorities(MaxMeanPriority((taken - target).detach(), s.counts, /*eta=*/0));
    context->Report("q_mean", MaskedMean(taken.detach(), s.counts));
  }

  void VisitState(StateVisitor* visitor) override { follower_.VisitState(visitor); }

 private:
  // Targets, [T, rows]. The last row of a sequence or an episode has no action: its value is that of the best one.
  Tensor Returns(const Sequences& s) const {
    const torch::NoGradGuard no_grad;
    const Tensor q = q_.target().Unroll(s.observation, s.first, s.core_state).q();
    const Tensor acted = torch::cat({s.counts, torch::zeros_like(s.counts.narrow(0, 0, 1))});
    const Tensor value = torch::where(acted, ValuesOfChoices(q, s.action), q.amax(-1));
    return LambdaReturns(s.reward, s.discount, value, s.last, options_.lambda);
  }

  const SarsaOptions options_;
  Net& q_;
  TargetFollower follower_;
};

}  // namespace

AlgorithmImplementation sarsa_implementation() {
  return Implement<Sarsa, SarsaOptions>();
}

}  // namespace waggle
