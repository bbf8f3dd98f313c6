#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/sac/sac.h"
#include "common/rl/returns.h"

namespace waggle {
namespace {

class Sac : public Algorithm {
 public:
  Sac(const SacOptions& options, Model* model)
      : options_(options),
        actor_(model->net("actor")),
        critic_(model->net("critic")),
        temperature_(options.learn_temperature ? model->scalar("log_temperature") : nullptr),
        target_entropy_(options.target_entropy.value_or(-static_cast<double>(model->action_elements()))) {}

  // Numbers are those of the paper's equations.
  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t =
        TransitionsOf(batches, options_.discount, options_.importance_exponent.At(context->progress()));
    const torch::Tensor alpha = temperature_ != nullptr ? temperature_->value().detach().exp()
                                                        : torch::full({}, options_.temperature, t.reward.options());
    // (5): towards r + gamma^n (min_i Q'_i(s', a') + alpha H), with the next action of the policy of now.
    torch::Tensor target;
    {
      const torch::NoGradGuard no_grad;
      const Expected next = Expect(critic_.target(), t.next_observation, context->noise());
      target = Bootstrapped(t.reward, t.bootstrap, next.q + alpha * next.entropy);
    }
    const torch::Tensor error = Taken(t) - target;  // [members, rows].
    if (context->Descend(0.5 * (t.weight * error.square()).mean(1).sum(), critic_.group())) {
      critic_.FollowTarget(options_.update_rate);
    }
    // (7): the critics only pass the gradient on.
    const Expected now = Expect(critic_, t.observation, context->noise());
    context->Descend(-(t.weight * (now.q + alpha * now.entropy)).mean(), actor_.group());
    // (18).
    if (temperature_ != nullptr) {
      const torch::Tensor surplus = now.entropy.detach() - target_entropy_;
      context->Descend((temperature_->value() * surplus).mean(), temperature_->group());
    }
    context->SetPriorities(error.abs().mean(0));
    context->Report("q_mean", now.q);
    context->Report("entropy", now.entropy);
    context->Report("temperature", alpha);
  }

 private:
  // What the policy expects in a state, [rows]: the least critic's value, and its own entropy.
  struct Expected {
    torch::Tensor q;
    torch::Tensor entropy;
  };

  // By one action that is drawn for each row.
  template <class Critic>
  Expected Expect(const Critic& critic, const Observations& observation, Noise* noise) const {
    const SampledAction drawn = actor_(observation).policy().Sample(noise);
    return {critic(observation, drawn.action).value().amin(0), -drawn.log_prob};
  }

  // The critics' values of the actions that were taken, [members, rows].
  torch::Tensor Taken(const Transitions& t) const { return critic_(t.observation, t.action).value(); }

  const SacOptions options_;
  Net& actor_;
  Net& critic_;
  Scalar* const temperature_;  // Null where it is fixed.
  const double target_entropy_;
};

}  // namespace

AlgorithmImplementation sac_implementation() {
  return Implement<Sac, SacOptions>();
}

}  // namespace waggle
