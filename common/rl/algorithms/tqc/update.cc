#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/soft_actor_critic/temperature.h"
#include "common/rl/algorithms/tqc/tqc.h"
#include "common/rl/kit/distributional.h"
#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {
namespace {

using torch::Tensor;

class Tqc : public Algorithm {
 public:
  Tqc(const TqcOptions& options, Model* model)
      : options_(options), actor_(model->net("actor")), critic_(model->net("critic")), temperature_(options, model) {}

  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
    const Tensor alpha = temperature_.Value(t.n_step_return);
    // The target's atoms: r + gamma^n (z_i - alpha ln pi), for all but the largest z_i of all critics. (10), (11).
    Tensor target;  // [rows, kept].
    {
      const torch::NoGradGuard no_grad;
      const SampledAction next = actor_(t.next_observation).policy().Sample(context->noise());
      const Tensor quantiles = critic_.target()(t.next_observation, next.action).quantiles("value");
      const Tensor all = quantiles.transpose(0, 1).flatten(1);  // [rows, critics * quantiles].
      const int64_t kept = (options_.quantiles - options_.dropped) * options_.critics;
      const Tensor least = std::get<0>(all.sort(1)).narrow(1, 0, kept) - (alpha * next.log_prob).unsqueeze(1);
      target = Bootstrapped(t.n_step_return, t.bootstrap, least.t()).t();
    }
    const Tensor quantiles = critic_(t.observation, t.action).quantiles("value");  // [critics, rows, quantiles].
    const Tensor fractions = MiddleFractions(options_.quantiles, quantiles);
    Tensor loss = torch::zeros_like(t.weight);
    for (const Tensor& own : quantiles.unbind(0)) {
      loss = loss + QuantileLoss(own, fractions, target) / static_cast<double>(options_.quantiles);
    }
    if (context->Descend((t.weight * loss).mean(), critic_.group())) {
      critic_.FollowTarget(options_.target_update_rate);
    }
    // (14): the actor climbs the mean of all quantiles.
    const SampledAction now = actor_(t.observation).policy().Sample(context->noise());
    const Tensor q = critic_(t.observation, now.action).quantiles("value").mean(2).mean(0);
    context->Descend((t.weight * (alpha * now.log_prob - q)).mean(), actor_.group());
    temperature_.LearnReal(-now.log_prob, now.action, context);
    context->SetPriorities((quantiles.mean(2).mean(0) - target.mean(1)).abs());
    context->Report("q_mean", q);
    context->Report("entropy", -now.log_prob);
    context->Report("temperature", alpha);
  }

 private:
  const TqcOptions options_;
  Net& actor_;
  Net& critic_;
  const Temperature temperature_;
};

}  // namespace

AlgorithmImplementation tqc_implementation() {
  return Implement<Tqc, TqcOptions>();
}

}  // namespace waggle
