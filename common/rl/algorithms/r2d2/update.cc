#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/r2d2/r2d2.h"
#include "common/rl/kit/q_learning.h"
#include "common/rl/kit/returns/advantages.h"
#include "common/rl/kit/returns/sequence_returns.h"

namespace waggle {
namespace {

using torch::Tensor;

// Time steps [first, first + count).
Observations Between(const Observations& observation, int64_t first, int64_t count) {
  Observations part;
  for (const Tensor& leaf : observation) {
    part.push_back(leaf.narrow(0, first, count));
  }
  return part;
}

class R2d2 : public Algorithm {
 public:
  R2d2(const R2d2Options& options, Model* model) : options_(options), q_(model->net("q")) {}

  void Update(const Batches& batches, UpdateContext* context) override {
    const Sequences s =
        SequencesOf(batches, options_.discount, options_.burn_in, options_.ImportanceExponentAt(context->progress()));
    const Tensor q = Values(s);
    const Tensor target = Unrolls::Steps(Rescaled(Returns(s, q), options_.rescaling_epsilon));
    const Tensor taken = Unrolls::Steps(ValuesOfChoices(q, s.action));
    const Tensor error = torch::where(s.learned, taken - target, torch::zeros({}, q.options()));
    if (context->Descend(MaskedMean(0.5 * s.weight * error.square(), s.learned), q_.group()) &&
        ++steps_ % options_.update_steps == 0) {
      q_.FollowTarget(options_.target_update_rate);
    }
    context->SetPriorities(MaxMeanPriority(error.detach(), s.learned, options_.eta));
    context->Report("q_mean", MaskedMean(taken.detach(), s.learned));
  }

  void VisitState(StateVisitor* visitor) override { visitor->Int("steps", &steps_); }

 private:
  // Values of all choices, [T + 1, rows, choices]. No gradient flows through the burn-in's final state.
  Tensor Values(const Sequences& s) const {
    const int64_t rows = s.first.size(0);
    const int64_t burn_in = options_.burn_in;
    if (burn_in == 0 || burn_in >= rows || !s.core_state.defined()) {
      return q_.Unroll(s.observation, s.first, s.core_state).q();
    }
    const Output before = q_.Unroll(Between(s.observation, 0, burn_in), s.first.narrow(0, 0, burn_in), s.core_state);
    // All of a sequence that begins with its episode is learned from.
    const Tensor whole = s.first[0].unsqueeze(1);
    const Tensor state = torch::where(whole, before.core_state(), before.core_state().detach());
    const Output after =
        q_.Unroll(Between(s.observation, burn_in, rows - burn_in), s.first.narrow(0, burn_in, rows - burn_in), state);
    return torch::cat({before.q(), after.q()});
  }

  // Double Q-learning (arXiv 1509.06461): the target network's values of the choices that `q` prefers.
  Tensor Returns(const Sequences& s, const Tensor& q) const {
    const torch::NoGradGuard no_grad;
    const Tensor values = q_.target().Unroll(s.observation, s.first, s.core_state).q();
    const Tensor best = Unrescaled(ValuesOfBest(values, q), options_.rescaling_epsilon);
    return SequenceReturns(s.reward, s.discount, best, s.counts, options_.n_step);
  }

  const R2d2Options options_;
  Net& q_;
  int64_t steps_ = 0;
};

}  // namespace

AlgorithmImplementation r2d2_implementation() {
  return Implement<R2d2, R2d2Options>();
}

}  // namespace waggle
