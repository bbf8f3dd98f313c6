#include "common/rl/kit/returns/sequence_returns.h"

#include <algorithm>

#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {

using torch::Tensor;

Tensor Rescaled(const Tensor& values, double epsilon) {
  const Tensor size = values.abs();
  return values.sign() * (size / ((size + 1).sqrt() + 1)) + epsilon * values;
}

Tensor Unrescaled(const Tensor& rescaled, double epsilon) {
  const Tensor size = rescaled.abs() + (1 + epsilon);
  const Tensor root = 2 * size / ((1 + 4 * epsilon * size).sqrt() + 1);
  return rescaled.sign() * (root - 1) * (root + 1);
}

Tensor SequenceReturns(const Tensor& reward, const Tensor& discount, const Tensor& value, const Tensor& counts,
                       int64_t n_step) {
  const torch::NoGradGuard no_grad;
  const int64_t steps = reward.size(0);
  const Tensor present = value.narrow(0, 0, steps);
  const Tensor final = value.narrow(0, steps, 1);
  // Each round extends returns of k - 1 steps to k; rounds beyond the number of steps change nothing.
  Tensor returns = value;
  for (int64_t k = 0; k < std::min(n_step, steps); ++k) {
    const Tensor longer = Bootstrapped(reward, discount, returns.narrow(0, 1, steps));
    returns = torch::cat({torch::where(counts, longer, present), final});
  }
  return returns;
}

Tensor MaxMeanPriority(const Tensor& errors, const Tensor& counts, double eta) {
  const torch::NoGradGuard no_grad;
  const Tensor size = torch::where(counts, errors.abs(), torch::zeros({}, errors.options()));
  return eta * std::get<0>(size.max(0)) + (1 - eta) * size.sum(0) / counts.sum(0).clamp_min(1);
}

}  // namespace waggle
