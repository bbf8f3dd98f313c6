#include "common/rl/algorithms/value_based/update.h"

#include <cmath>
#include <utility>

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/iqn/iqn.h"
#include "common/rl/kit/distributional.h"
#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {
namespace {

using torch::Tensor;

// The network's output at fractions [rows, samples].
template <class AnyNet>
Output At(const AnyNet& net, const Observations& observation, const Tensor& fractions, int64_t embedding) {
  const Tensor waves = torch::arange(embedding, fractions.options()) * M_PI;
  return net(observation, {}, {(fractions.unsqueeze(-1) * waves).cos()});
}

// The values of choices, [rows, choices, samples].
Tensor ValuesOf(const Output& output) {
  return output.q().transpose(-2, -1);
}

class Iqn : public Algorithm {
 public:
  Iqn(const IqnOptions& options, Model* model) : options_(options), q_(model->net("q")), follower_(options, &q_) {}

  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
    const auto draw = [&](int64_t samples) {
      return context->noise()->UniformLike(torch::empty({t.weight.size(0), samples}, t.n_step_return.options()));
    };
    Tensor target;  // [rows, target_samples].
    {
      const torch::NoGradGuard no_grad;
      const auto next = [&](const Tensor& fractions) {
        return ValuesOf(At(q_.target(), t.next_observation, fractions, options_.embedding));
      };
      const Tensor best = next(draw(options_.acting_samples)).mean(-1).argmax(-1);
      const Tensor values = AtChoices(next(draw(options_.target_samples)), best);
      target = Bootstrapped(t.n_step_return, t.bootstrap, values.t()).t();
    }
    const Tensor fractions = draw(options_.samples);
    const Tensor values = AtChoices(ValuesOf(At(q_, t.observation, fractions, options_.embedding)), t.action);
    const Tensor loss = QuantileLoss(values, fractions, target, options_.huber_threshold);
    if (context->Descend((t.weight * loss).mean(), q_.group())) {
      follower_.Follow();
    }
    context->SetPriorities((target.mean(1) - values.mean(1)).abs());
    context->Report("q_mean", values);
  }

  void VisitState(StateVisitor* visitor) override { follower_.VisitState(visitor); }

 private:
  const IqnOptions options_;
  Net& q_;
  TargetFollower follower_;
};

// Chooses by the mean over fractions: drawn ones while exploring, else evenly spaced ones.
class IqnPolicy : public AlgorithmPolicy {
 public:
  IqnPolicy(const IqnOptions& options, ActingNets nets) : options_(options), nets_(std::move(nets)) {}

  Acted Act(const ActingRows& rows) override {
    const Tensor middles = MiddleFractions(options_.acting_samples, torch::empty({0}, nets_.device))
                               .expand({rows.slots.size(0), options_.acting_samples});
    const Tensor fractions = rows.greedy ? middles : rows.noise->UniformLike(middles);
    const Output out = At(nets_.net("q"), rows.observation, fractions, options_.embedding);
    Acted acted;
    acted.values = out.q().mean(1);
    acted.mask = out.mask().defined() ? out.mask().select(1, 0) : out.mask();  // The same for all samples.
    return acted;
  }

 private:
  const IqnOptions options_;
  const ActingNets nets_;
};

}  // namespace

AlgorithmImplementation iqn_implementation() {
  return ImplementWithPolicy<Iqn, IqnPolicy, IqnOptions>();
}

}  // namespace waggle
