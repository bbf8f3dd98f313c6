#include "common/rl/algorithms/mpo/improved_policy.h"

#include <cmath>

#include "common/rl/kit/q_learning.h"

namespace waggle {
namespace {

using torch::Tensor;

class NormalPolicy final : public ImprovedPolicy {
 public:
  NormalPolicy(int64_t samples, const Net* actor, const Net* critic)
      : samples_(samples), actor_(*actor), critic_(*critic) {}

  Candidates Propose(const Observations& observation, Noise* noise) const override {
    const torch::NoGradGuard no_grad;
    const Tensor action = BeforeTanh(actor_.target()(observation)).Samples(samples_, noise).action;
    Observations repeated;
    for (const Tensor& leaf : observation) {
      std::vector<int64_t> shape = leaf.sizes().vec();
      shape.insert(shape.begin(), samples_);
      repeated.push_back(leaf.expand(shape));
    }
    const Tensor q = critic_.target()(repeated, action.tanh()).value().t();
    return {action, q, torch::full_like(q, -std::log(static_cast<double>(samples_)))};
  }

  Tensor Taken(const Transitions& t) const override { return critic_(t.observation, t.action).value(); }

  std::vector<MovedPart> Parts(const Observations& observation, const Candidates& candidates) const override {
    const Distribution now = BeforeTanh(actor_(observation));
    const Distribution target = BeforeTanh(actor_.target()(observation));
    const auto part = [&](const Tensor& mean, const Tensor& log_std) {
      const Tensor& each = candidates.action;
      return MovedPart{Distribution::Normal(mean.expand_as(each), log_std.expand_as(each)).LogProb(each).t(),
                       Distribution::Normal(mean, log_std).DivergenceFrom(target)};
    };
    return {part(now.mean(), target.stddev().log()), part(target.mean(), now.stddev().log())};
  }

 private:
  // Divergences and ratios of densities are the same before and after tanh.
  static Distribution BeforeTanh(const Output& output) {
    const Distribution policy = output.policy();
    return Distribution::Normal(policy.mean(), policy.stddev().log());
  }

  const int64_t samples_;
  const Net& actor_;
  const Net& critic_;
};

class CategoricalPolicy final : public ImprovedPolicy {
 public:
  CategoricalPolicy(const Net* actor, const Net* critic) : actor_(*actor), critic_(*critic) {}

  Candidates Propose(const Observations& observation, Noise* /*noise*/) const override {
    const torch::NoGradGuard no_grad;
    Candidates all{{}, critic_.target()(observation).q(), actor_.target()(observation).policy().LogProbabilities()};
    all.q = torch::where(all.log_prior.exp() > 0, all.q, all.Value().unsqueeze(-1));
    return all;
  }

  Tensor Taken(const Transitions& t) const override { return ValuesOfChoices(critic_(t.observation).q(), t.action); }

  std::vector<MovedPart> Parts(const Observations& observation, const Candidates& candidates) const override {
    const Distribution now = actor_(observation).policy();
    return {{now.LogProbabilities(), now.DivergenceFrom(Distribution::Categorical(candidates.log_prior))}};
  }

 private:
  const Net& actor_;
  const Net& critic_;
};

}  // namespace

std::unique_ptr<ImprovedPolicy> NewNormalPolicy(int64_t samples, const Net* actor, const Net* critic) {
  return std::make_unique<NormalPolicy>(samples, actor, critic);
}

std::unique_ptr<ImprovedPolicy> NewCategoricalPolicy(const Net* actor, const Net* critic) {
  return std::make_unique<CategoricalPolicy>(actor, critic);
}

}  // namespace waggle
