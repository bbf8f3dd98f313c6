#include "common/rl/algorithms/mixed_soft_actor_critic/policy.h"

#include "common/rl/algorithms/soft_actor_critic/temperature.h"
#include "common/rl/kit/q_learning.h"
#include "common/rl/kit/returns/advantages.h"

namespace waggle {
namespace {

using torch::Tensor;

// The least critic's value of each choice beside real actions, [rows, choices].
Tensor Least(const Output& critics) {
  return critics.vector(kChoiceValues).amin(0);
}

class MixedPolicy final : public SoftPolicy {
 public:
  MixedPolicy(const SacOptions& options, Model* model)
      : options_(options), actor_(model->net("actor")), temperature_(options, model, kChoiceTemperature) {}

  // Estimates by one drawn real action a row; exact over the choices beside it. The value of these is that of the best
  // choice with its entropy. Its gradient is that of sum_d p(d) Q(d) for constant probabilities p.
  Expected Expect(const Network& critics, const SoftRows& rows, Noise* noise) const override {
    const SampledAction drawn = actor_(rows.observation).policy().Sample(noise);
    const Output out = Forward(critics, rows.observation, {}, {drawn.action});
    const Tensor q = Least(out);
    const Tensor alpha = temperature_.Value(q);
    const Distribution choice = Distribution::Categorical(q / alpha, out.mask());
    const Tensor entropy = choice.Entropy();
    const Tensor worth = (choice.LogProbabilities().exp() * q).sum(-1) + alpha * entropy;
    return {worth, -drawn.log_prob, torch::full({}, options_.RealTarget(drawn.action.size(-1)), worth.options()),
            entropy, ChoiceTargetEntropy(options_.choice_target_entropy, q, out.mask())};
  }

  Tensor Taken(const Network& critics, const SoftRows& rows, const Tensor& action) const override {
    const Tensor reals = action.narrow(-1, 1, action.size(-1) - 1);
    const Tensor q = Forward(critics, rows.observation, {}, {reals}).vector(kChoiceValues);
    return ValuesOfChoices(q, action.select(-1, 0).to(torch::kInt64).expand_as(q.select(-1, 0)));
  }

  void LearnMore(const Expected& now, const Tensor& learned, UpdateContext* context) const override {
    const Tensor alpha = temperature_.Value(now.q);
    const Tensor entropy = MaskedMean(now.choice_entropy, learned).detach();
    temperature_.Learn(entropy, MaskedMean(now.choice_target_entropy.expand_as(now.choice_entropy), learned), context);
    context->Report("choice_entropy", entropy);
    context->Report("choice_temperature", alpha);
  }

 private:
  const SacOptions options_;
  const Net& actor_;
  const Temperature temperature_;
};

}  // namespace

std::unique_ptr<SoftPolicy> NewMixedPolicy(const SacOptions& options, Model* model) {
  return std::make_unique<MixedPolicy>(options, model);
}

Acted MixedActingPolicy::Act(const ActingRows& rows) {
  const Distribution policy = nets_.net("actor")(rows.observation).policy();
  const Tensor reals = rows.greedy ? policy.Mode() : policy.Sample(rows.noise).action;
  const Output out = nets_.net("critic")(rows.observation, {}, {reals});
  const Tensor q = Least(out);
  const Tensor alpha = Temperature::Acting(options_, options_.temperature, nets_, kChoiceTemperature, q);
  // Greedy, a high temperature would round values to a tie.
  const Tensor choice = rows.greedy ? Distribution::Categorical(q, out.mask()).Mode()
                                    : Distribution::Categorical(q / alpha, out.mask()).Sample(rows.noise).action;
  Acted acted;
  acted.action = torch::cat({choice.unsqueeze(-1).to(reals.scalar_type()), reals}, -1);
  acted.mask = out.mask();
  return acted;
}

}  // namespace waggle
