#include "common/rl/algorithms/deterministic_actor_critic/update.h"

#include "common/rl/algorithms/d4pg/d4pg.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/kit/distributional.h"

namespace waggle {
namespace {

using torch::Tensor;

class D4pg : public DeterministicActorCritic {
 public:
  D4pg(const D4pgOptions& options, Model* model) : DeterministicActorCritic(options, model), options_(options) {}

 private:
  // The divergence of the critic's distribution from the projected one of r + gamma^n Z'(s', mu'(s')).
  CriticLoss Criticize(const Transitions& t, const Tensor& taken, const Tensor& next) const override {
    Tensor target;
    {
      const torch::NoGradGuard no_grad;
      const Tensor logits = critic().target()(t.next_observation, next).vector("value");
      target = ProjectedAtoms(logits.softmax(-1), t.n_step_return, t.bootstrap, options_.low, options_.high);
    }
    const Tensor logits = critic()(t.observation, taken).vector("value");
    const Tensor loss = torch::kl_div(logits.log_softmax(-1), target, at::Reduction::None).sum(-1);
    return {loss, loss.detach().clamp_min(0)};  // It may be below 0 by a rounding error.
  }

  // The expectation.
  Tensor Value(const Observations& observation, const Tensor& action) const override {
    const Tensor logits = critic()(observation, action).vector("value");
    const Tensor atoms =
        torch::linspace(options_.low, options_.high, options_.atoms, logits.options().requires_grad(false));
    return (logits.softmax(-1) * atoms).sum(-1);
  }

  const D4pgOptions options_;
};

}  // namespace

AlgorithmImplementation d4pg_implementation() {
  return Implement<D4pg, D4pgOptions>();
}

}  // namespace waggle
