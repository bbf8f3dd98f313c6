#include "common/rl/algorithms/sac/update.h"

#include <utility>

#include "common/rl/algorithms/implementations.h"
#include "common/rl/algorithms/oac/oac.h"
#include "common/rl/algorithms/oac/optimism.h"

namespace waggle {
namespace {

using torch::Tensor;

class OacPolicy : public AlgorithmPolicy {
 public:
  OacPolicy(const OacOptions& options, ActingNets nets) : options_(options), nets_(std::move(nets)) {}

  Acted Act(const ActingRows& rows) override {
    const Distribution policy = nets_.net("actor")(rows.observation).policy();
    Acted acted;
    if (rows.greedy) {
      acted.action = policy.Mode();
      return acted;
    }
    const Tensor mean = policy.mean().detach().requires_grad_();
    const Tensor q = nets_.net("critic")(rows.observation, mean.tanh()).value();
    const Tensor gradient = torch::autograd::grad({UpperBound(q, options_.optimism).sum()}, {mean})[0];
    const torch::NoGradGuard no_grad;
    const Tensor stddev = policy.stddev();
    const Tensor shifted = OptimisticMean(mean, stddev, gradient, options_.divergence);
    acted.action = Distribution::TanhNormal(shifted, stddev.log()).Sample(rows.noise).action;
    return acted;
  }

  bool differentiates() const override { return true; }

 private:
  const OacOptions options_;
  const ActingNets nets_;
};

}  // namespace

AlgorithmImplementation oac_implementation() {
  return ImplementWithPolicy<Sac, OacPolicy, OacOptions>();
}

}  // namespace waggle
