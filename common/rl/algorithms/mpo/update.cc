#include <memory>
#include <string>
#include <vector>

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/mpo/e_step.h"
#include "common/rl/algorithms/mpo/improved_policy.h"
#include "common/rl/algorithms/mpo/mpo.h"
#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {
namespace {

using torch::Tensor;

class Mpo : public Algorithm {
 public:
  Mpo(const MpoOptions& options, Model* model)
      : options_(options), actor_(model->net("actor")), critic_(model->net("critic")) {
    if (model->environment().actions[0].kind == SpaceKind::kDiscrete) {
      policy_ = NewCategoricalPolicy(&actor_, &critic_);
      limits_ = {{"policy", model->scalar("log_multiplier"), options.policy_divergence}};
    } else {
      policy_ = NewNormalPolicy(options.samples, &actor_, &critic_);
      limits_ = {{"mean", model->scalar("log_mean_multiplier"), options.mean_divergence},
                 {"stddev", model->scalar("log_stddev_multiplier"), options.stddev_divergence}};
    }
  }

  void Update(const Batches& batches, UpdateContext* context) override {
    const Transitions t = TransitionsOf(batches, options_.discount, options_.ImportanceExponentAt(context->progress()));
    // Policy evaluation: the target is r + gamma^n E Q'(s', a'), with a' from the target policy.
    const Tensor value = policy_->Propose(t.next_observation, context->noise()).Value();
    const Tensor error = policy_->Taken(t) - Bootstrapped(t.n_step_return, t.bootstrap, value);
    bool stepped = context->Descend((t.weight * error.square()).mean(), critic_.group());
    context->SetPriorities(error.abs());
    // The E-step weighs the target policy's actions by their values.
    const Candidates candidates = policy_->Propose(t.observation, context->noise());
    const Tensor temperature = BestTemperature(candidates.q, candidates.log_prior, options_.improvement);
    const Tensor weights = ImprovedWeights(temperature, candidates.q, candidates.log_prior);
    // The M-step fits the policy to these weights.
    for (int64_t step = 0; step < options_.policy_steps; ++step) {
      stepped = Fit(t, candidates, weights, context) && stepped;
    }
    if (stepped) {
      actor_.FollowTarget(options_.target_update_rate);
      critic_.FollowTarget(options_.target_update_rate);
    }
    context->Report("q_mean", candidates.q);
    context->Report("temperature", temperature);
    context->Report("temperature_dual",
                    TemperatureDual(temperature, candidates.q, candidates.log_prior, options_.improvement));
  }

 private:
  // A limit of a part's divergence, and the logarithm of its Lagrange multiplier.
  struct Limit {
    const char* part;
    Scalar* log_multiplier;
    double divergence;
  };

  // One step of the policy by the Lagrangian, and one of the multipliers. True if the policy changed.
  bool Fit(const Transitions& t, const Candidates& candidates, const Tensor& weights, UpdateContext* context) const {
    const std::vector<MovedPart> parts = policy_->Parts(t.observation, candidates);
    Tensor loss = torch::zeros_like(t.weight);
    for (size_t i = 0; i < parts.size(); ++i) {
      const Tensor multiplier = limits_[i].log_multiplier->value().detach().exp();
      loss = loss - (weights * parts[i].log_prob).sum(-1) + multiplier * parts[i].divergence;
      context->Report(std::string(limits_[i].part) + "_divergence", parts[i].divergence);
      context->Report(std::string(limits_[i].part) + "_multiplier", multiplier);
    }
    const bool stepped = context->Descend((t.weight * loss).mean(), actor_.group());
    for (size_t i = 0; i < parts.size(); ++i) {
      // A multiplier grows while its part is further away than the limit. One below exp(-18), which limits nothing,
      // does not fall further, so that it is soon back.
      Tensor slack = limits_[i].divergence - parts[i].divergence.detach().mean();
      slack = torch::where(limits_[i].log_multiplier->value().detach() < -18, slack.clamp_max(0), slack);
      context->Descend(limits_[i].log_multiplier->value() * slack, limits_[i].log_multiplier->group());
    }
    return stepped;
  }

  const MpoOptions options_;
  Net& actor_;
  Net& critic_;
  std::unique_ptr<ImprovedPolicy> policy_;
  std::vector<Limit> limits_;
};

}  // namespace

AlgorithmImplementation mpo_implementation() {
  return Implement<Mpo, MpoOptions>();
}

}  // namespace waggle
