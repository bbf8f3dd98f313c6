#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/sac/sac.h"
#include "common/rl/returns/n_step_returns.h"

namespace waggle {
namespace {

class Sac : public Algorithm {
 public:
  Sac(const SacOptions& options, Model* model)
      : options_(options),
        actor_(model->net("actor")),
        critic_(model->net("critic")),
        temperature_(options.learn_temperature ? model->scalar("log_temperature") : nullptr),
        is_discrete_(model->environment().actions[0].kind == SpaceKind::kDiscrete) {}

  // Numbers are those of the paper's equations.
  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
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
      const torch::Tensor surplus = now.entropy.detach() - now.target_entropy;
      context->Descend((temperature_->value() * surplus).mean(), temperature_->group());
    }
    context->SetPriorities(error.abs().mean(0));
    context->Report("q_mean", now.q);
    context->Report("entropy", now.entropy);
    context->Report("temperature", alpha);
  }

 private:
  // What the policy expects in a state, [rows]: the least critic's value, and its own entropy, which is to come to
  // target_entropy.
  struct Expected {
    torch::Tensor q;
    torch::Tensor entropy;
    torch::Tensor target_entropy;
  };

  // By one action that is drawn for each row; of choices, exactly (arXiv 1910.07207, section 3).
  template <class Critic>
  Expected Expect(const Critic& critic, const Observations& observation, Noise* noise) const {
    const Output actor = actor_(observation);
    const Distribution policy = actor.policy();
    if (is_discrete_) {
      const torch::Tensor log_probabilities = policy.LogProbabilities();
      const Distribution uniform = Distribution::Categorical(torch::zeros_like(log_probabilities), actor.mask());
      return {(log_probabilities.exp() * critic(observation).q().amin(0)).sum(-1), policy.Entropy(),
              TargetEntropy(uniform.Entropy() * SacOptions::kShareOfUniformEntropy)};
    }
    const SampledAction drawn = policy.Sample(noise);
    const torch::Tensor elements = torch::full({}, drawn.action.size(-1), drawn.log_prob.options());
    return {critic(observation, drawn.action).value().amin(0), -drawn.log_prob, TargetEntropy(-elements)};
  }

  // What the options say, or else this.
  torch::Tensor TargetEntropy(const torch::Tensor& otherwise) const {
    return options_.target_entropy.has_value() ? torch::full_like(otherwise, *options_.target_entropy) : otherwise;
  }

  // The critics' values of the actions that were taken, [members, rows].
  torch::Tensor Taken(const Transitions& t) const {
    if (is_discrete_) {
      const torch::Tensor q = critic_(t.observation).q();
      return q.gather(-1, t.action.expand_as(q.select(-1, 0)).unsqueeze(-1)).squeeze(-1);
    }
    return critic_(t.observation, t.action).value();
  }

  const SacOptions options_;
  Net& actor_;
  Net& critic_;
  Scalar* const temperature_;  // Null where it is fixed.
  const bool is_discrete_;
};

}  // namespace

AlgorithmImplementation sac_implementation() {
  return Implement<Sac, SacOptions>();
}

}  // namespace waggle
