#include "common/rl/algorithms/actor_critic/update.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "common/config/spec/joint_action.h"
#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/trac/trac.h"

namespace waggle {
namespace {

using torch::Tensor;

// A pull ends this much inside of the limit, because divergences are no exact squares of distances.
constexpr double kInside = 0.9;

// 0 for the value's own parameters, which no policy depends on, and 1 for the others, [parameters].
Tensor MovesPolicy(const ParameterGroup& group) {
  std::vector<Tensor> parts;
  int64_t left = group.values().numel();
  for (const ArraySpec& parameter : group.parameters().layout()) {
    const int64_t elements = std::min(left, parameter.NumElements());
    parts.push_back(
        torch::full({elements}, absl::StartsWith(parameter.name, "heads.value.") ? 0 : 1, group.values().options()));
    left -= elements;
  }
  return torch::cat(parts);
}

class Trac : public AdvantageActorCritic {
 public:
  Trac(const TracOptions& options, Model* model)
      : AdvantageActorCritic(options, model),
        options_(options),
        net_(model->net("actor_critic")),
        moves_policy_(MovesPolicy(*net_.group())) {
    const JointAction action = JointActionOf(model->environment());
    limit_ = options.max_divergence * static_cast<double>(action.num_choosing() + action.num_reals);
  }

  void Update(const Batches& batches, UpdateContext* context) override {
    const Tensor before = net_.group()->values().clone();
    const Unrolls u = UnrollsOf(batches, options_.discount);
    const Distribution acted = Policy(u);
    AdvantageActorCritic::Update(batches, context);
    PullBack(u, before, acted, context);
  }

 private:
  Distribution Policy(const Unrolls& u) const {
    const torch::NoGradGuard no_grad;
    return net_.Unroll(u.observation, u.first, u.core_state).policy();
  }

  // w <- before + 0.9 sqrt(limit / moved) (w - before), until the policy has not moved further than the limit.
  void PullBack(const Unrolls& u, const Tensor& before, const Distribution& acted, UpdateContext* context) const {
    const torch::NoGradGuard no_grad;
    double pulls = 0;
    for (; context->status().ok(); ++pulls) {
      const Distribution policy = Policy(u);
      const Tensor both_ways = policy.DivergenceFrom(acted) + acted.DivergenceFrom(policy);
      const Tensor moved = context->Mean(MaskedMean(Unrolls::Steps(both_ways), u.counts));
      const double divergence = moved.item<double>();
      context->Report(pulls == 0 ? "step_divergence" : "pulled_divergence", moved);
      if (divergence <= limit_ || pulls == static_cast<double>(options_.max_pulls)) {
        break;
      }
      const Tensor& now = net_.group()->values();
      const Tensor share = 1 - (1 - kInside * std::sqrt(limit_ / divergence)) * moves_policy_;
      if (!context->Assign(torch::lerp(before, now, share), net_.group())) {
        break;
      }
    }
    context->Report("pulls", torch::full({}, pulls));
  }

  const TracOptions options_;
  Net& net_;
  const Tensor moves_policy_;
  double limit_ = 0;  // Nats.
};

}  // namespace

AlgorithmImplementation trac_implementation() {
  return Implement<Trac, TracOptions>();
}

}  // namespace waggle
