#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/qr_sac/qr_sac.h"
#include "common/rl/algorithms/soft_actor_critic/temperature.h"
#include "common/rl/kit/distributional.h"
#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {
namespace {

using torch::Tensor;

class QrSac : public Algorithm {
 public:
  QrSac(const QrSacOptions& options, Model* model)
      : options_(options), actor_(model->net("actor")), critic_(model->net("critic")), temperature_(options, model) {}

  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
    const Tensor alpha = temperature_.Value(t.n_step_return);
    Tensor target;  // [rows, quantiles].
    {
      const torch::NoGradGuard no_grad;
      const SampledAction next = actor_(t.next_observation).policy().Sample(context->noise());
      const Tensor least = Least(critic_.target()(t.next_observation, next.action).quantiles("value"));
      const Tensor soft = least - (alpha * next.log_prob).unsqueeze(1);
      target = Bootstrapped(t.n_step_return, t.bootstrap, soft.t()).t();
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
    const SampledAction now = actor_(t.observation).policy().Sample(context->noise());
    const Tensor q = Least(critic_(t.observation, now.action).quantiles("value")).mean(1);
    context->Descend((t.weight * (alpha * now.log_prob - q)).mean(), actor_.group());
    temperature_.LearnReal(-now.log_prob, now.action, context);
    context->SetPriorities((quantiles.mean(2).mean(0) - target.mean(1)).abs());
    context->Report("q_mean", q);
    context->Report("entropy", -now.log_prob);
    context->Report("temperature", alpha);
  }

 private:
  // From [critics, rows, quantiles] to [rows, quantiles].
  Tensor Least(const Tensor& quantiles) const {
    if (options_.least == "quantile") {
      return quantiles.amin(0);
    }
    const Tensor critic = quantiles.mean(2).argmin(0);  // [rows].
    return quantiles.gather(0, critic.view({1, -1, 1}).expand({1, quantiles.size(1), quantiles.size(2)})).squeeze(0);
  }

  const QrSacOptions options_;
  Net& actor_;
  Net& critic_;
  const Temperature temperature_;
};

}  // namespace

AlgorithmImplementation qr_sac_implementation() {
  return Implement<QrSac, QrSacOptions>();
}

}  // namespace waggle
