#include "common/rl/algorithms/sac/soft_policy.h"
#include "common/rl/kit/q_learning.h"

namespace waggle {
namespace {

class DiscretePolicy final : public SoftPolicy {
 public:
  DiscretePolicy(const SacOptions& options, const Net* actor) : target_(options.target_entropy), actor_(*actor) {}

  // Exact, over all choices (arXiv 1910.07207, section 3).
  Expected Expect(const Network& critics, const SoftRows& rows, Noise* /*noise*/) const override {
    const Output actor = actor_.Unroll(rows.observation, rows.first, rows.core_state);
    const Distribution policy = actor.policy();
    const torch::Tensor log_probabilities = policy.LogProbabilities();
    const torch::Tensor q = CriticsOutput(critics, rows).q().amin(0);
    return {(log_probabilities.exp() * q).sum(-1), policy.Entropy(),
            ChoiceTargetEntropy(target_, log_probabilities, actor.mask())};
  }

  torch::Tensor Taken(const Network& critics, const SoftRows& rows, const torch::Tensor& action) const override {
    const torch::Tensor q = CriticsOutput(critics, rows).q();
    return ValuesOfChoices(q, action.expand_as(q.select(-1, 0)));
  }

 private:
  const std::optional<double> target_;
  const Net& actor_;
};

}  // namespace

std::unique_ptr<SoftPolicy> NewDiscretePolicy(const SacOptions& options, const Net* actor) {
  return std::make_unique<DiscretePolicy>(options, actor);
}

}  // namespace waggle
