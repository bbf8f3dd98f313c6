#include "common/rl/algorithms/mpo/e_step.h"

#include <cmath>

namespace waggle {

using torch::Tensor;
namespace {

// The values below each row's best, so that none is large beside a low temperature.
Tensor BelowBest(const Tensor& q) {
  return q - q.amax(-1, /*keepdim=*/true);
}

}  // namespace

Tensor ImprovedWeights(const Tensor& temperature, const Tensor& q, const Tensor& log_prior) {
  return (BelowBest(q) / temperature + log_prior).softmax(-1);
}

Tensor TemperatureDual(const Tensor& temperature, const Tensor& q, const Tensor& log_prior, double divergence) {
  return q.amax(-1).mean() + temperature * (divergence + (BelowBest(q) / temperature + log_prior).logsumexp(-1).mean());
}

Tensor BestTemperature(const Tensor& q, const Tensor& log_prior, double divergence) {
  // By Hoeffding's lemma a row's divergence is at most range^2 / (8 temperature^2).
  const Tensor below = BelowBest(q);
  Tensor high = (-below.amin() / std::sqrt(8 * divergence)).clamp_min(1e-12).log();
  Tensor low = high - std::log(1e6);
  // The derivative grows with the temperature. 30 halvings leave an interval of about 1e-8 of its logarithm.
  for (int i = 0; i < 30; ++i) {
    const Tensor middle = (low + high) / 2;
    const Tensor log_weights = (below / middle.exp() + log_prior).log_softmax(-1);
    const Tensor distance = (log_weights.exp() * (log_weights - log_prior)).sum(-1).mean();
    const Tensor too_low = distance > divergence;
    low = torch::where(too_low, middle, low);
    high = torch::where(too_low, high, middle);
  }
  return low.exp();
}

}  // namespace waggle
