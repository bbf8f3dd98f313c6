#include "common/rl/kit/return_scale.h"

#include <limits>

#include "common/rl/kit/returns/advantages.h"

namespace waggle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

torch::Tensor ReturnScale::Rewards(const Unrolls& unrolls, const torch::Tensor& value, double lambda,
                                   UpdateContext* context) {
  if (!enabled_) {
    return unrolls.reward;
  }
  const torch::NoGradGuard no_grad;
  const torch::Tensor deviation = Deviation(value, context);
  const torch::Tensor returns =
      LambdaReturns(unrolls.reward, unrolls.discount, value.detach() * deviation, unrolls.last, lambda)
          .masked_select(unrolls.counts);
  if (returns.numel() > 0) {
    largest_reward_.copy_(torch::maximum(largest_reward_, unrolls.reward.masked_select(unrolls.counts).abs().max()));
    const torch::Tensor largest = largest_reward_ / (1 - unrolls.discount.masked_select(unrolls.counts).max());
    // No bound before the first reward.
    const torch::Tensor bound = torch::where(largest_reward_ > 0, largest, torch::full_like(largest, kInfinity));
    returns_.Update(torch::clamp(returns, -bound, bound));
  }
  return unrolls.reward / Deviation(unrolls.reward, context);
}

}  // namespace waggle
