#include "common/rl/algorithms/off_policy_actor_critic/update.h"

#include "common/rl/algorithms/ddpg/ddpg.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {
namespace {

class Ddpg : public Algorithm {
 public:
  Ddpg(const DdpgOptions& options, Model* model)
      : options_(options), actor_(model->net("actor")), critic_(model->net("critic")) {}

  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
    // The critic's target is r + gamma^n Q'(s', mu'(s')).
    torch::Tensor target;
    {
      const torch::NoGradGuard no_grad;
      const torch::Tensor next = actor_.target()(t.next_observation).action();
      target = Bootstrapped(t.n_step_return, t.bootstrap, critic_.target()(t.next_observation, next).value());
    }
    const torch::Tensor error = critic_(t.observation, t.action).value() - target;
    const bool critic_stepped = context->Descend((t.weight * error.square()).mean(), critic_.group());
    context->SetPriorities(error.abs());
    ClimbCritic(t, critic_stepped, options_.target_update_rate, &actor_, &critic_, context);
  }

 private:
  const DdpgOptions options_;
  Net& actor_;
  Net& critic_;
};

}  // namespace

AlgorithmImplementation ddpg_implementation() {
  return Implement<Ddpg, DdpgOptions>();
}

}  // namespace waggle
