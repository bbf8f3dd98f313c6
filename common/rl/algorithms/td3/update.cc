#include "common/rl/algorithms/off_policy_actor_critic/update.h"

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/td3/td3.h"
#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {
namespace {

class Td3 : public Algorithm {
 public:
  Td3(const Td3Options& options, Model* model)
      : options_(options), actor_(model->net("actor")), critic_(model->net("critic")) {}

  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
    // The critics' target is r + gamma^n min_i Q'_i(s', mu'(s') + noise).
    torch::Tensor target;
    {
      const torch::NoGradGuard no_grad;
      const torch::Tensor mode = actor_.target()(t.next_observation).action();
      const torch::Tensor noise = (context->noise()->NormalLike(mode) * options_.target_noise)
                                      .clamp(-options_.target_noise_clip, options_.target_noise_clip);
      const torch::Tensor next = (mode + noise).clamp(-1, 1);
      target = Bootstrapped(t.n_step_return, t.bootstrap, critic_.target()(t.next_observation, next).value().amin(0));
    }
    const torch::Tensor error = critic_(t.observation, t.action).value() - target;  // [members, rows].
    const bool critics_stepped = context->Descend((t.weight * error.square()).mean(1).sum(), critic_.group());
    context->SetPriorities(error.abs().mean(0));
    if (++updates_ % options_.policy_delay == 0) {
      ClimbCritic(t, critics_stepped, options_.target_update_rate, &actor_, &critic_, context);
    }
  }

  void VisitState(StateVisitor* visitor) override { visitor->Int("updates", &updates_); }

 private:
  const Td3Options options_;
  Net& actor_;
  Net& critic_;
  int64_t updates_ = 0;
};

}  // namespace

AlgorithmImplementation td3_implementation() {
  return Implement<Td3, Td3Options>();
}

}  // namespace waggle
