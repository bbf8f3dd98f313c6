#include "common/rl/kit/returns/advantages.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/rl/kit/tensor_check.h"

namespace waggle {
namespace {

struct UnrollRows {
  torch::Tensor reward, discount, value, last;
  double lambda;
};

void Check(const UnrollRows& unroll) {
  const torch::Tensor& reward = unroll.reward;
  TORCH_CHECK(IsFloat32Or64(reward) && reward.dim() == 2, "reward is ", DescribeTensor(reward),
              "; wanted Float or Double[T, rows]");
  CheckTensor("discount", unroll.discount, reward.scalar_type(), reward.sizes());
  CheckTensor("value", unroll.value, reward.scalar_type(), {reward.size(0) + 1, reward.size(1)});
  CheckTensor("last", unroll.last, torch::kBool, reward.sizes());
}

// One sweep from the last row to the first. LibTorch's operators would pass over memory a dozen times a row.
Advantages Sweep(const UnrollRows& unroll) {
  const int64_t steps = unroll.reward.size(0);
  const int64_t rows = unroll.reward.size(1);
  const torch::Tensor reward = unroll.reward.contiguous();
  const torch::Tensor discount = unroll.discount.contiguous();
  const torch::Tensor value = unroll.value.contiguous();
  const torch::Tensor last = unroll.last.contiguous();
  Advantages result{torch::empty({steps, rows}, torch::kFloat32), torch::empty({steps, rows}, torch::kFloat32)};
  const float lambda = static_cast<float>(unroll.lambda);
  const float* next_values = value.data_ptr<float>() + steps * rows;
  // The next row's return. An episode's last row has its value.
  std::vector<float> returns(next_values, next_values + rows);
  for (int64_t t = steps - 1; t >= 0; --t) {
    const float* rewards = reward.data_ptr<float>() + t * rows;
    const float* discounts = discount.data_ptr<float>() + t * rows;
    const float* values = value.data_ptr<float>() + t * rows;
    const bool* lasts = last.data_ptr<bool>() + t * rows;
    float* advantages = result.advantage.data_ptr<float>() + t * rows;
    float* targets = result.value_target.data_ptr<float>() + t * rows;
    float* following = returns.data();
    for (int64_t row = 0; row < rows; ++row) {
      const float counted = discounts[row] * ((1 - lambda) * next_values[row] + lambda * following[row]);
      const float target = rewards[row] + (discounts[row] == 0 ? 0 : counted);
      advantages[row] = lasts[row] ? 0 : target - values[row];
      targets[row] = lasts[row] ? 0 : target;
      following[row] = lasts[row] ? values[row] : target;
    }
    next_values = values;
  }
  return result;
}

// The same with operators, for any device.
Advantages Loop(const UnrollRows& unroll) {
  const int64_t steps = unroll.reward.size(0);
  const torch::Tensor zero = torch::zeros({}, unroll.reward.options());
  const torch::Tensor ends = unroll.discount == 0;
  torch::Tensor targets = torch::empty_like(unroll.reward);
  torch::Tensor following = unroll.value.select(0, steps);
  for (int64_t t = steps - 1; t >= 0; --t) {
    const torch::Tensor counted = unroll.discount.select(0, t) *
                                  ((1 - unroll.lambda) * unroll.value.select(0, t + 1) + unroll.lambda * following);
    const torch::Tensor target = unroll.reward.select(0, t) + torch::where(ends.select(0, t), zero, counted);
    targets.select(0, t).copy_(target);
    following = torch::where(unroll.last.select(0, t), unroll.value.select(0, t), target);
  }
  return {torch::where(unroll.last, zero, targets - unroll.value.narrow(0, 0, steps)),
          torch::where(unroll.last, zero, targets)};
}

struct Counted {
  torch::Tensor values;  // 0 outside of the mask.
  torch::Tensor number;  // Size of the mask, at least 1.
};

Counted Count(const torch::Tensor& values, const torch::Tensor& mask) {
  if (!mask.defined()) {
    return {values, torch::full({}, std::max<int64_t>(values.numel(), 1), values.options())};
  }
  CheckTensor("the mask", mask, torch::kBool, values.sizes());
  return {values.masked_fill(mask.logical_not(), 0), mask.sum().clamp_min(1)};
}

}  // namespace

Advantages GeneralizedAdvantages(const torch::Tensor& reward, const torch::Tensor& discount, const torch::Tensor& value,
                                 const torch::Tensor& last, double lambda) {
  torch::NoGradGuard no_grad;
  const UnrollRows unroll{reward, discount, value, last, lambda};
  Check(unroll);
  const bool sweep = reward.scalar_type() == torch::kFloat32 && reward.is_cpu() && discount.is_cpu() &&
                     value.is_cpu() && last.is_cpu();
  return sweep ? Sweep(unroll) : Loop(unroll);
}

torch::Tensor LambdaReturns(const torch::Tensor& reward, const torch::Tensor& discount, const torch::Tensor& value,
                            const torch::Tensor& last, double lambda) {
  return GeneralizedAdvantages(reward, discount, value, last, lambda).value_target;
}

torch::Tensor DiscountedReturns(const torch::Tensor& reward, const torch::Tensor& discount, const torch::Tensor& value,
                                const torch::Tensor& last) {
  return LambdaReturns(reward, discount, value, last, 1);
}

torch::Tensor MaskedMean(const torch::Tensor& values, const torch::Tensor& mask) {
  const Counted counted = Count(values, mask);
  return counted.values.sum() / counted.number;
}

torch::Tensor Standardized(const torch::Tensor& advantage, const torch::Tensor& mask) {
  const Counted counted = Count(advantage, mask);
  const torch::Tensor centred = counted.values - counted.values.sum() / counted.number;
  const torch::Tensor deviations = mask.defined() ? centred.masked_fill(mask.logical_not(), 0) : centred;
  return deviations / (deviations.square().sum() / counted.number + 1e-8).sqrt();
}

}  // namespace waggle
