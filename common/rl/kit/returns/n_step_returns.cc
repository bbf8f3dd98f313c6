#include "common/rl/kit/returns/n_step_returns.h"

#include <algorithm>
#include <cstdint>

#include "common/rl/kit/returns/n_step_sum.h"

namespace waggle {
namespace {

// LibTorch's operators cost more than these few numbers.
NStepReturn SweepNStepReturns(const torch::Tensor& reward, const torch::Tensor& discount, const torch::Tensor& length,
                              double gamma) {
  const int64_t rows = reward.size(0);
  const int64_t columns = reward.size(1);
  NStepReturn result{torch::empty({rows}, torch::kFloat32), torch::empty({rows}, torch::kFloat32)};
  const float* rewards = reward.data_ptr<float>();
  const float* discounts = discount.data_ptr<float>();
  const int64_t* lengths = length.data_ptr<int64_t>();
  float* sums = result.rewards.data_ptr<float>();
  float* bootstraps = result.bootstrap.data_ptr<float>();
  const float factor = static_cast<float>(gamma);
  for (int64_t row = 0; row < rows; ++row, rewards += columns, discounts += columns) {
    const NStepSum<float> sum = SumSteps(
        std::min(lengths[row] - 1, columns), factor, [rewards](int64_t k) { return rewards[k]; },
        [discounts](int64_t k) { return discounts[k]; });
    sums[row] = sum.rewards;
    bootstraps[row] = sum.bootstrap;
  }
  return result;
}

bool IsPlain(const torch::Tensor& tensor, torch::ScalarType type) {
  return tensor.is_cpu() && tensor.scalar_type() == type && tensor.is_contiguous();
}

}  // namespace

NStepReturn NStepReturns(const torch::Tensor& reward, const torch::Tensor& discount, const torch::Tensor& length,
                         double gamma) {
  if (reward.dim() == 2 && IsPlain(reward, torch::kFloat32) && IsPlain(discount, torch::kFloat32) &&
      IsPlain(length, torch::kInt64)) {
    return SweepNStepReturns(reward, discount, length, gamma);
  }
  const torch::Tensor positions = torch::arange(reward.size(1), length.options());
  const torch::Tensor counts = positions.unsqueeze(0) < (length - 1).unsqueeze(1);
  const torch::Tensor ones = torch::ones({}, discount.options());
  const torch::Tensor products = torch::cumprod(torch::where(counts, discount * gamma, ones), 1);
  // The weight of row k is the product of the factors before it.
  const torch::Tensor weights =
      torch::cat({torch::ones_like(products.narrow(1, 0, 1)), products.narrow(1, 0, reward.size(1) - 1)}, 1);
  const torch::Tensor zeros = torch::zeros({}, reward.options());
  const auto like_reward = [&reward](const torch::Tensor& steps) {
    return reward.dim() == 3 ? steps.unsqueeze(-1) : steps;
  };
  return {(torch::where(like_reward(counts), reward, zeros) * like_reward(weights)).sum(1),
          products.select(1, reward.size(1) - 1)};
}

torch::Tensor Bootstrapped(const torch::Tensor& reward, const torch::Tensor& bootstrap, const torch::Tensor& value) {
  const at::IntArrayRef sizes = reward.sizes();
  TORCH_CHECK(bootstrap.sizes() == sizes && value.dim() >= reward.dim() &&
                  value.sizes().slice(static_cast<size_t>(value.dim() - reward.dim())) == sizes,
              "bootstrap is ", bootstrap.sizes(), " and value ", value.sizes(), "; wanted ", sizes,
              ", the value's behind any leading dimensions");
  // The inner `where` keeps values that are not finite out of the gradient by the bootstrap.
  const torch::Tensor ends = bootstrap == 0;
  return reward + bootstrap * torch::where(ends, torch::zeros({}, value.options()), value);
}

}  // namespace waggle
