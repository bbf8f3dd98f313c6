#include "common/rl/kit/distributional.h"

#include <limits>

#include "common/nn/closed_form.h"
#include "common/rl/kit/quantile_kernel.h"
#include "common/rl/kit/tensor_check.h"

namespace waggle {

using torch::Tensor;

namespace {

// QuantileLoss with its gradient, on the CPU, without the pairs of quantiles and targets in memory.
Tensor QuantileLossByKernel(const Tensor& quantiles, const Tensor& fractions, const Tensor& targets, double threshold) {
  const Tensor own = quantiles.detach().contiguous();
  const Tensor of = fractions.detach().to(torch::kFloat32).expand_as(own).contiguous();
  const Tensor by = targets.detach().contiguous();
  Tensor loss = torch::empty({own.size(0)}, own.options());
  Tensor gradient = torch::empty_like(own);
  const int64_t count = own.size(1);
  for (int64_t row = 0; row < own.size(0); ++row) {
    loss.data_ptr<float>()[row] =
        QuantileHuber(own.data_ptr<float>() + row * count, of.data_ptr<float>() + row * count, count,
                      by.data_ptr<float>() + row * by.size(1), by.size(1), static_cast<float>(threshold),
                      gradient.data_ptr<float>() + row * count);
  }
  return WithGradient(loss, quantiles, gradient);
}

}  // namespace

Tensor AtChoices(const Tensor& values, const Tensor& choices) {
  const int64_t count = values.size(-2);
  std::vector<int64_t> shape = choices.sizes().vec();
  shape.push_back(1);
  shape.push_back(values.size(-1));
  const Tensor index = choices.clamp(0, count - 1).unsqueeze(-1).unsqueeze(-1).expand(shape);
  const Tensor unknown = (choices < 0).logical_or(choices >= count).unsqueeze(-1);
  return values.gather(-2, index).squeeze(-2).masked_fill(unknown, std::numeric_limits<double>::quiet_NaN());
}

Tensor ProjectedAtoms(const Tensor& probabilities, const Tensor& reward, const Tensor& bootstrap, double low,
                      double high) {
  const torch::NoGradGuard no_grad;
  const int64_t atoms = probabilities.size(-1);
  CheckTensor("the reward", reward, probabilities.scalar_type(), {probabilities.size(0)});
  CheckTensor("the bootstrap", bootstrap, probabilities.scalar_type(), {probabilities.size(0)});
  const Tensor values = torch::linspace(low, high, atoms, probabilities.options());
  // A bootstrap of 0 ignores the distribution, even if it is not finite.
  const Tensor given = probabilities.masked_fill((bootstrap == 0).unsqueeze(1), 1 / static_cast<double>(atoms));
  const Tensor moved = (reward.unsqueeze(1) + bootstrap.unsqueeze(1) * values).clamp(low, high);
  const Tensor position = ((moved - low) * (static_cast<double>(atoms - 1) / (high - low))).clamp(0, atoms - 1);
  const Tensor below = position.floor();
  const Tensor above_share = position - below;
  const Tensor index = below.to(torch::kInt64).clamp(0, atoms - 1);  // NaN has no index; its shares are NaN.
  Tensor projected = torch::zeros_like(given);
  projected.scatter_add_(1, index, given * (1 - above_share));
  projected.scatter_add_(1, (index + 1).clamp_max(atoms - 1), given * above_share);
  return projected;
}

Tensor QuantileLoss(const Tensor& quantiles, const Tensor& fractions, const Tensor& targets, double threshold) {
  CheckTensor("the targets", targets, quantiles.scalar_type(), {quantiles.size(0), targets.size(-1)});
  if (quantiles.is_cpu() && quantiles.scalar_type() == torch::kFloat32) {
    return QuantileLossByKernel(quantiles, fractions, targets, threshold);
  }
  const Tensor error = targets.detach().unsqueeze(1) - quantiles.unsqueeze(2);  // [rows, N, M].
  const Tensor size = error.abs();
  const Tensor huber =
      threshold == 0
          ? size
          : torch::where(size <= threshold, 0.5 * error.square(), threshold * (size - 0.5 * threshold)) / threshold;
  const Tensor weight = (fractions.unsqueeze(-1) - (error.detach() < 0).to(quantiles.scalar_type())).abs();
  return (weight * huber).mean(2).sum(1);
}

Tensor MiddleFractions(int64_t count, const Tensor& like) {
  return (torch::arange(count, like.options().requires_grad(false)) + 0.5) / static_cast<double>(count);
}

}  // namespace waggle
